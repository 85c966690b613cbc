package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const secretBytesMin = 16

// portRange is an inclusive range of UDP ports.
type portRange struct{ first, last uint16 }

// config is the relay's configuration, read once at startup.
type config struct {
	udp, tcp, control string
	tls               tlsConfig
	realm             string
	secret            []byte
	peerPorts         []portRange
	allocationsMax    int64
	connectionsMax    int
	unallocatedMax    time.Duration
	stalledMax        time.Duration
}

// tlsConfig holds the address and files of the TLS listener. TLS is off if listen is empty.
type tlsConfig struct{ listen, certificate, key string }

// readConfig returns the configuration, or one error that names every invalid variable.
func readConfig(get func(string) string) (config, error) {
	var wrong []error
	or := func(name, fallback string) string {
		if value := get(name); value != "" {
			return value
		}
		return fallback
	}
	whole := func(name string, fallback int) int {
		value, err := strconv.Atoi(or(name, strconv.Itoa(fallback)))
		if err != nil || value < 1 || value > 1_000_000 {
			wrong = append(wrong, fmt.Errorf("%s must be a whole number from 1 to 1000000", name))
		}
		return value
	}
	ports, err := readPorts(or("PEER_PORTS", "20000-20999"))
	if err != nil {
		wrong = append(wrong, fmt.Errorf("PEER_PORTS %w", err))
	}
	// A trailing newline is not part of the secret. The API and the operator trim it too.
	secret := strings.TrimSpace(get("TURN_SECRET"))
	if len(secret) < secretBytesMin {
		wrong = append(wrong, fmt.Errorf("TURN_SECRET must be at least %d random characters. Generate it with 'openssl rand -base64 48'", secretBytesMin))
	}
	read := config{
		udp: or("LISTEN_UDP", ":3478"), tcp: or("LISTEN_TCP", ":3478"), control: or("LISTEN_CONTROL", ":8086"),
		realm: or("REALM", "joypod"), secret: []byte(secret), peerPorts: ports,
		allocationsMax: int64(whole("ALLOCATIONS_MAX", 2000)), connectionsMax: whole("CONNECTIONS_MAX", 4000),
		unallocatedMax: time.Duration(whole("UNALLOCATED_SECONDS", 30)) * time.Second,
		stalledMax:     time.Duration(whole("STALLED_SECONDS", 10)) * time.Second,
	}
	if folder := get("TLS_FOLDER"); folder != "" {
		read.tls = tlsConfig{or("LISTEN_TLS", ":5349"), filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")}
	}
	return read, errors.Join(wrong...)
}

func readPorts(text string) ([]portRange, error) {
	var ranges []portRange
	for _, part := range strings.Split(text, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		low, lowErr := strconv.ParseUint(first, 10, 16)
		high, highErr := strconv.ParseUint(last, 10, 16)
		if lowErr != nil || highErr != nil || low < 1024 || high < low {
			return nil, fmt.Errorf("contains %q. Use ports or port ranges from 1024 to 65535, such as 20000-20999", part)
		}
		ranges = append(ranges, portRange{uint16(low), uint16(high)})
	}
	return ranges, nil
}

// The relay forwards media between game nodes and players whose network blocks UDP to them, using TURN (RFC 8656) over UDP, TCP and TLS. It
// has no cluster credentials: the operator sends it the addresses that it may reach (peers.go).
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	logger := slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: normalizeLogAttribute})).With("program", "turn")
	config, err := readConfig(os.Getenv)
	if err != nil {
		logger.Error("The relay's configuration is invalid.", "err", err.Error())
		os.Exit(1)
	}
	stopping, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(stopping, config, logger); err != nil {
		logger.Error("The relay failed.", "err", err.Error())
		os.Exit(1)
	}
}

// normalizeLogAttribute formats log lines like those of the other programs: lowercase levels, and times in UTC with milliseconds.
func normalizeLogAttribute(groups []string, attribute slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return attribute
	}
	switch value := attribute.Value.Any().(type) {
	case slog.Level:
		attribute.Value = slog.StringValue(strings.ToLower(value.String()))
	case time.Time:
		attribute.Value = slog.StringValue(value.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	return attribute
}

// run serves until stopping is done or one of its servers fails.
func run(stopping context.Context, config config, logger *slog.Logger) error {
	counts := &counts{}
	peers := newPeers(config.peerPorts, counts)
	control, err := startControl(config, peers, counts, logger)
	if err != nil {
		return err
	}
	relayFailed := make(chan error, 1)
	relay, err := startRelay(config, peers, counts, relayFailed, logger)
	if err != nil {
		return err
	}
	logger.Info("The relay is running.", "udp", config.udp, "tcp", config.tcp, "tls", config.tls.listen, "control", config.control)
	var failed error
	select {
	case <-stopping.Done():
	case failed = <-control.failed:
	case failed = <-relayFailed:
	}
	closed := make(chan struct{})
	go func() {
		_ = relay.Close()
		control.close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(5 * time.Second):
	}
	return failed
}

// The relay: passes media between players whose network lets no UDP through to game nodes and the media ports of those nodes, by TURN
// (RFC 8656) over UDP, TCP and TLS. It holds no credential of the cluster: where it may send is told to it (peers.go).
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
	logger := slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: inOneForm})).With("program", "turn")
	config, err := readConfig(os.Getenv)
	if err != nil {
		logger.Error("The relay's configuration is wrong.", "err", err.Error())
		os.Exit(1)
	}
	stopping, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(stopping, config, logger); err != nil {
		logger.Error("The relay cannot go on.", "err", err.Error())
		os.Exit(1)
	}
}

// inOneForm has lines look like those of the other programs: levels in small letters, and times in UTC to the millisecond.
func inOneForm(groups []string, attribute slog.Attr) slog.Attr {
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

// run serves until it is told to stop or one of its servers fails.
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
	logger.Info("The relay is at work.", "udp", config.udp, "tcp", config.tcp, "tls", config.tls.listen, "control", config.control)
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

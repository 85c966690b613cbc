package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"
)

const (
	nodesBytesMax    = 1 << 20
	nodesMax         = 20_000
	clocksDifferMax  = 10 * time.Minute
	signatureHeader  = "X-Joypod-Signature"
	controlReadMax   = 5 * time.Second
	controlCloseWait = 2 * time.Second
)

// gameNodes is the list that the operator sends every few seconds.
type gameNodes struct {
	// Unix time in seconds, which prevents replays of old lists.
	At        int64        `json:"at"`
	Addresses []netip.Addr `json:"addresses"`
}

// control is the server for the operator, the kubelet and Prometheus.
type control struct {
	server *http.Server
	failed chan error
}

func startControl(config config, peers *peers, counts *counts, logger *slog.Logger) (*control, error) {
	listener, err := net.Listen("tcp", config.control)
	if err != nil {
		return nil, err
	}
	routes := http.NewServeMux()
	routes.HandleFunc("PUT /game-nodes", func(response http.ResponseWriter, request *http.Request) {
		status, message := takeGameNodes(config.secret, peers, http.MaxBytesReader(response, request.Body, nodesBytesMax), request.Header.Get(signatureHeader))
		if status != http.StatusNoContent {
			logger.Warn("Rejected a list of game nodes.", "from", request.RemoteAddr, "reason", message)
			http.Error(response, message, status)
			return
		}
		response.WriteHeader(status)
	})
	routes.HandleFunc("GET /healthz", func(response http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(response, "ok\n") })
	routes.HandleFunc("GET /readyz", func(response http.ResponseWriter, _ *http.Request) {
		if !peers.isKnown() {
			http.Error(response, "The operator has not sent the list of game nodes yet.", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(response, "ok\n")
	})
	routes.HandleFunc("GET /metrics", func(response http.ResponseWriter, _ *http.Request) {
		response.Header().Set("Content-Type", "text/plain; version=0.0.4")
		counts.write(response)
	})
	started := &control{
		server: &http.Server{Handler: routes, ReadTimeout: controlReadMax, WriteTimeout: controlReadMax, MaxHeaderBytes: 8192},
		failed: make(chan error, 1),
	}
	go func() {
		if err := started.server.Serve(listener); err != http.ErrServerClosed {
			started.failed <- err
		}
	}()
	return started, nil
}

// takeGameNodes accepts a list that was recently signed with the shared secret. It returns the HTTP status and an error message.
func takeGameNodes(secret []byte, peers *peers, body io.Reader, signature string) (int, string) {
	text, err := io.ReadAll(body)
	if err != nil {
		return http.StatusRequestEntityTooLarge, "The list is too long or was not received in time."
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("game-nodes\n"))
	mac.Write(text)
	given, err := hex.DecodeString(signature)
	if err != nil || !hmac.Equal(given, mac.Sum(nil)) {
		return http.StatusUnauthorized, "The list is not signed with the shared secret."
	}
	var nodes gameNodes
	if err := json.Unmarshal(text, &nodes); err != nil || len(nodes.Addresses) > nodesMax {
		return http.StatusBadRequest, "The list is not valid JSON or has too many addresses."
	}
	if age := time.Since(time.Unix(nodes.At, 0)).Abs(); age > clocksDifferMax {
		return http.StatusUnauthorized, "The list is too old, or the clocks of the operator and the relay differ by more than ten minutes."
	}
	peers.set(nodes.Addresses)
	return http.StatusNoContent, ""
}

func (c *control) close() {
	deadline, cancel := context.WithTimeout(context.Background(), controlCloseWait)
	defer cancel()
	_ = c.server.Shutdown(deadline)
}

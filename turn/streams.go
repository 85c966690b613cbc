package main

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

const (
	// A client says who it is at once.
	firstBytesMax = 10 * time.Second
	// Players' browsers send every few seconds.
	silenceMax = 2 * time.Minute
	// A client that takes nothing for so long has gone.
	writeMax = 10 * time.Second
	// How often the certificate's file is looked at.
	certificateCheck = 10 * time.Second
)

// listenStreams listens for TCP and, where there is a certificate, for TLS.
func listenStreams(config config, counts *counts, logger *slog.Logger) ([]net.Listener, error) {
	slots := make(chan struct{}, config.connectionsMax)
	plain, err := net.Listen("tcp", config.tcp)
	if err != nil {
		return nil, fmt.Errorf("listening on TCP: %w", err)
	}
	listeners := []net.Listener{&boundedListener{plain, slots}}
	if config.tls.listen == "" {
		return listeners, nil
	}
	certificate := &certificateFile{config: config.tls, logger: logger}
	if _, err := certificate.current(nil); err != nil {
		return nil, fmt.Errorf("the certificate of TLS: %w", err)
	}
	secure, err := net.Listen("tcp", config.tls.listen)
	if err != nil {
		return nil, fmt.Errorf("listening on TLS: %w", err)
	}
	counts.certificate.Store(certificate)
	settings := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate.current}
	return append(listeners, tls.NewListener(&boundedListener{secure, slots}, settings)), nil
}

// certificateFile reads the certificate again when its file has changed, as it does when it is renewed.
type certificateFile struct {
	config  tlsConfig
	logger  *slog.Logger
	mutex   sync.Mutex
	loaded  *tls.Certificate
	changed time.Time
	checked time.Time
}

func (c *certificateFile) current(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.loaded != nil && time.Since(c.checked) < certificateCheck {
		return c.loaded, nil
	}
	c.checked = time.Now()
	info, err := os.Stat(c.config.certificate)
	if err == nil && (c.loaded == nil || !info.ModTime().Equal(c.changed)) {
		var pair tls.Certificate
		if pair, err = tls.LoadX509KeyPair(c.config.certificate, c.config.key); err == nil {
			c.loaded, c.changed = &pair, info.ModTime()
		}
	}
	if err != nil && c.loaded != nil {
		c.logger.Warn("The renewed certificate cannot be read: the one before it stays.", "err", err.Error())
		return c.loaded, nil
	}
	return c.loaded, err
}

// boundedListener takes no more connections than there are slots, and none that says nothing.
type boundedListener struct {
	net.Listener
	slots chan struct{}
}

func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		connection, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.slots <- struct{}{}:
			return &timedConnection{Conn: connection, release: sync.OnceFunc(func() { <-l.slots })}, nil
		default:
			_ = connection.Close()
		}
	}
}

// timedConnection ends when its client is silent, or takes nothing.
type timedConnection struct {
	net.Conn
	release func()
	isHeard bool
}

func (c *timedConnection) Read(into []byte) (int, error) {
	allowed := firstBytesMax
	if c.isHeard {
		allowed = silenceMax
	}
	if err := c.Conn.SetReadDeadline(time.Now().Add(allowed)); err != nil {
		return 0, err
	}
	size, err := c.Conn.Read(into)
	c.isHeard = c.isHeard || size > 0
	return size, err
}

func (c *timedConnection) Write(bytes []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(time.Now().Add(writeMax)); err != nil {
		return 0, err
	}
	return c.Conn.Write(bytes)
}

func (c *timedConnection) Close() error {
	c.release()
	return c.Conn.Close()
}

package main

import (
	"context"
	"crypto/tls"
	"errors"
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
	// What keeps connections from being taken, such as too many open files, may pass.
	acceptPause = 100 * time.Millisecond
	// How often the certificate's file is looked at.
	certificateCheck = 10 * time.Second
	// A client's handshake is a few KiB, and a record under 19 KiB.
	sealedMax = 32 << 10
	// Little is read of what comes after a record, for it is not counted any more once that is opened.
	sealedAtOnceMax = 4 << 10
)

var errSealed = errors.New("a client of TLS has sent more than a handshake or a record is, and nothing for the relay")

// listenStreams listens for TCP and, where there is a certificate, for TLS.
func listenStreams(config config, unallocated *unallocated, counts *counts, logger *slog.Logger) ([]net.Listener, error) {
	slots := make(chan struct{}, config.connectionsMax)
	bounded := func(listener net.Listener) net.Listener {
		return &boundedListener{listener, slots, unallocated, config.stalledMax, counts, logger}
	}
	plain, err := net.Listen("tcp", config.tcp)
	if err != nil {
		return nil, fmt.Errorf("listening on TCP: %w", err)
	}
	listeners := []net.Listener{&framingListener{bounded(plain)}}
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
	return append(listeners, &framingListener{&secureListener{bounded(secure), settings}}), nil
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
	slots       chan struct{}
	unallocated *unallocated
	stalledMax  time.Duration
	counts      *counts
	logger      *slog.Logger
}

func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		connection, err := l.Listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil, err
		}
		if err != nil {
			l.logger.Warn("A connection cannot be taken; the relay tries again.", "err", err.Error())
			time.Sleep(acceptPause)
			continue
		}
		select {
		case l.slots <- struct{}{}:
			timed := &timedConnection{Conn: connection, stalledMax: l.stalledMax, release: sync.OnceFunc(func() {
				l.unallocated.closed(connection)
				<-l.slots
			})}
			l.unallocated.opened(timed)
			return timed, nil
		default:
			l.counts.refusedAllocations.Add(1)
			_ = connection.Close()
		}
	}
}

// secureListener takes connections whose type is not that of the TLS library: with those, pion shakes hands itself, and leaves a connection open, with
// the slot that it takes, when that fails.
type secureListener struct {
	net.Listener
	settings *tls.Config
}

func (l *secureListener) Accept() (net.Conn, error) {
	connection, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	sealed := &sealedConnection{Conn: connection}
	return &secureConnection{Conn: tls.Server(sealed, l.settings), sealed: sealed}, nil
}

// sealedConnection is what the TLS library reads, and ends when that finds too long nothing for the relay in it. Of a message of the handshake, the
// library keeps what has come until it has all, up to 256 KiB and after the handshake as well: strangers could take the relay's memory by it.
type sealedConnection struct {
	net.Conn
	// Bytes that have come since the library last had something for the relay.
	bytes int
}

func (c *sealedConnection) Read(into []byte) (int, error) {
	if c.bytes >= sealedMax {
		return 0, errSealed
	}
	size, err := c.Conn.Read(into[:min(len(into), sealedMax-c.bytes, sealedAtOnceMax)])
	c.bytes += size
	return size, err
}

// secureConnection shakes hands when it is read for the first time, and is of no use where that fails or takes long.
type secureConnection struct {
	*tls.Conn
	sealed   *sealedConnection
	isShaken bool
}

func (c *secureConnection) Read(into []byte) (int, error) {
	if !c.isShaken {
		inTime, done := context.WithTimeout(context.Background(), firstBytesMax)
		defer done()
		if err := c.HandshakeContext(inTime); err != nil {
			return 0, err
		}
		c.isShaken = true
	}
	size, err := c.Conn.Read(into)
	if size > 0 {
		c.sealed.bytes = 0
	}
	return size, err
}

// framingListener takes connections that hand on whole frames.
type framingListener struct{ net.Listener }

func (l *framingListener) Accept() (net.Conn, error) {
	connection, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &framedConnection{Conn: connection}, nil
}

// timedConnection ends when its client is silent, or takes nothing.
type timedConnection struct {
	net.Conn
	stalledMax time.Duration
	release    func()
	isHeard    bool
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

// Write ends the connection when it fails: a part of a frame may have been sent, and the client would take what follows for the rest of it.
func (c *timedConnection) Write(bytes []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(time.Now().Add(c.stalledMax)); err != nil {
		return 0, err
	}
	size, err := c.Conn.Write(bytes)
	if err != nil {
		_ = c.Close()
	}
	return size, err
}

func (c *timedConnection) Close() error {
	c.release()
	return c.Conn.Close()
}

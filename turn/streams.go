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
	// Deadline for a client's first bytes.
	firstBytesMax = 10 * time.Second
	// Deadline for further bytes. Players' browsers send every few seconds.
	silenceMax = 2 * time.Minute
	// Pause after a failed accept. Its cause, such as too many open files, may be temporary.
	acceptPause = 100 * time.Millisecond
	// Interval at which the certificate's file is checked for changes.
	certificateCheck = 10 * time.Second
	// Maximum number of bytes without data for the relay. A client's handshake is a few KiB, and a record less than 19 KiB.
	sealedMax = 32 << 10
	// Maximum size of a read. Bytes read after the current record are not counted once it is decrypted, so they must be few.
	sealedAtOnceMax = 4 << 10
)

var errSealed = errors.New("a TLS client sent more bytes than a handshake or record needs, but no data")

// listenStreams listens for TCP and, if a certificate is configured, for TLS.
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
		return nil, fmt.Errorf("loading the TLS certificate: %w", err)
	}
	secure, err := net.Listen("tcp", config.tls.listen)
	if err != nil {
		return nil, fmt.Errorf("listening on TLS: %w", err)
	}
	counts.certificate.Store(certificate)
	settings := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate.current}
	return append(listeners, &framingListener{&secureListener{bounded(secure), settings}}), nil
}

// certificateFile reloads the certificate when its file has changed, as after a renewal.
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
		c.logger.Warn("The renewed certificate cannot be read. The previous one stays in use.", "err", err.Error())
		return c.loaded, nil
	}
	return c.loaded, err
}

// boundedListener limits the number of connections and closes silent ones.
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
			l.logger.Warn("A connection could not be accepted. It is retried.", "err", err.Error())
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

// secureListener wraps TLS connections in a type that is not the TLS library's. For the library's type pion does the handshake itself, and if
// that fails it leaves the connection open, which keeps its slot.
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

// sealedConnection is the TLS library's input. It fails after too many bytes without data for the relay. The library buffers handshake messages
// until they are complete, up to 256 KiB and also after the handshake, so an unauthenticated client could exhaust the relay's memory.
type sealedConnection struct {
	net.Conn
	// Bytes received since the library last returned data.
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

// secureConnection does the TLS handshake on the first read, which fails if the handshake fails or times out.
type secureConnection struct {
	*tls.Conn
	sealed       *sealedConnection
	hasHandshake bool
}

func (c *secureConnection) Read(into []byte) (int, error) {
	if !c.hasHandshake {
		inTime, done := context.WithTimeout(context.Background(), firstBytesMax)
		defer done()
		if err := c.HandshakeContext(inTime); err != nil {
			return 0, err
		}
		c.hasHandshake = true
	}
	size, err := c.Conn.Read(into)
	if size > 0 {
		c.sealed.bytes = 0
	}
	return size, err
}

// framingListener accepts connections that return only whole frames.
type framingListener struct{ net.Listener }

func (l *framingListener) Accept() (net.Conn, error) {
	connection, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &framedConnection{Conn: connection}, nil
}

// timedConnection times out when its client stops sending or receiving.
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

// Write closes the connection on failure: part of a frame may have been sent, and the client would take the next bytes for the rest of it.
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

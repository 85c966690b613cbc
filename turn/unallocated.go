package main

import (
	"net"
	"sync"
	"time"
)

// unallocated closes TCP and TLS connections that have had no allocation for a while. Each takes one of a limited number of slots, which an
// unauthenticated client could hold by sending a byte from time to time.
type unallocated struct {
	after  time.Duration
	mutex  sync.Mutex
	timers map[string]*time.Timer
}

func newUnallocated(after time.Duration) *unallocated {
	return &unallocated{after: after, timers: map[string]*time.Timer{}}
}

// opened starts the timer of a new connection.
func (u *unallocated) opened(connection net.Conn) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.timers[pathOf(connection.RemoteAddr(), connection.LocalAddr())] = time.AfterFunc(u.after, func() { _ = connection.Close() })
}

func (u *unallocated) closed(connection net.Conn) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	path := pathOf(connection.RemoteAddr(), connection.LocalAddr())
	if timer, isKnown := u.timers[path]; isKnown {
		timer.Stop()
		delete(u.timers, path)
	}
}

// allocated stops the timer of the allocation's connection. Allocations over UDP have no connection.
func (u *unallocated) allocated(client, own net.Addr) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if timer, isKnown := u.timers[pathOf(client, own)]; isKnown {
		timer.Stop()
	}
}

// released restarts the timer, so that the client has time to allocate again.
func (u *unallocated) released(client, own net.Addr) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if timer, isKnown := u.timers[pathOf(client, own)]; isKnown {
		timer.Reset(u.after)
	}
}

func pathOf(client, own net.Addr) string { return client.String() + " " + own.String() }

package main

import (
	"net"
	"sync"
	"time"
)

// unallocated ends connections of TCP and TLS that have had no relayed address for a while: each has one of a bounded number of places, which a
// stranger could hold with a byte from time to time.
type unallocated struct {
	after  time.Duration
	mutex  sync.Mutex
	timers map[string]*time.Timer
}

func newUnallocated(after time.Duration) *unallocated {
	return &unallocated{after: after, timers: map[string]*time.Timer{}}
}

// opened follows a connection until it is closed.
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

// allocated lets the connection of an allocation be, where it has one: packets of UDP have none.
func (u *unallocated) allocated(client, own net.Addr) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if timer, isKnown := u.timers[pathOf(client, own)]; isKnown {
		timer.Stop()
	}
}

// released gives the connection the time to allocate again.
func (u *unallocated) released(client, own net.Addr) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if timer, isKnown := u.timers[pathOf(client, own)]; isKnown {
		timer.Reset(u.after)
	}
}

func pathOf(client, own net.Addr) string { return client.String() + " " + own.String() }

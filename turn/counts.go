package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// counts holds the relay's metrics.
type counts struct {
	allocations, allocationsTotal, refusedAllocations atomic.Int64
	refusedPeers, refusedPackets                      atomic.Int64
	bytesToNodes, bytesFromNodes                      atomic.Int64
	nodeAddresses                                     atomic.Int64
	// Nil without TLS.
	certificate atomic.Pointer[certificateFile]
}

func (c *counts) write(out io.Writer) {
	for _, figure := range []struct {
		name, kind, help string
		value            *atomic.Int64
	}{
		{"joypod_turn_allocations", "gauge", "Open TURN allocations.", &c.allocations},
		{"joypod_turn_allocations_total", "counter", "TURN allocations opened since the relay started.", &c.allocationsTotal},
		{"joypod_turn_allocations_refused_total", "counter", "Allocations, channels and connections refused because a limit was reached.", &c.refusedAllocations},
		{"joypod_turn_peers_refused_total", "counter", "Permission requests refused because the address does not belong to a game node.", &c.refusedPeers},
		{"joypod_turn_packets_refused_total", "counter", "Packets dropped because their destination address or port is not allowed.", &c.refusedPackets},
		{"joypod_turn_sent_bytes_total", "counter", "Bytes sent to game nodes.", &c.bytesToNodes},
		{"joypod_turn_received_bytes_total", "counter", "Bytes received from game nodes.", &c.bytesFromNodes},
		{"joypod_turn_node_addresses", "gauge", "Game node addresses that the relay may reach.", &c.nodeAddresses},
	} {
		fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s %s\n%s %d\n", figure.name, figure.help, figure.name, figure.kind, figure.name, figure.value.Load())
	}
	if end, isKnown := c.certificateEnd(); isKnown {
		const name = "joypod_turn_certificate_expiry_timestamp_seconds"
		fmt.Fprintf(out, "# HELP %s Expiry time of the TLS certificate in seconds since the Unix epoch.\n# TYPE %s gauge\n%s %d\n", name, name, name, end.Unix())
	}
}

// certificateEnd returns the expiry time of the certificate. It checks the file, because no client may have connected since the renewal.
func (c *counts) certificateEnd() (time.Time, bool) {
	file := c.certificate.Load()
	if file == nil {
		return time.Time{}, false
	}
	pair, err := file.current(nil)
	if err != nil || pair.Leaf == nil {
		return time.Time{}, false
	}
	return pair.Leaf.NotAfter, true
}

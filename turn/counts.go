package main

import (
	"fmt"
	"io"
	"sync/atomic"
)

// counts is what Prometheus is told.
type counts struct {
	allocations, allocationsTotal, refusedAllocations atomic.Int64
	refusedPeers, refusedPackets                      atomic.Int64
	bytesToNodes, bytesFromNodes                      atomic.Int64
	nodeAddresses                                     atomic.Int64
}

func (c *counts) write(out io.Writer) {
	for _, figure := range []struct {
		name, kind, help string
		value            *atomic.Int64
	}{
		{"joypod_turn_allocations", "gauge", "Relayed connections that are open.", &c.allocations},
		{"joypod_turn_allocations_total", "counter", "Relayed connections opened so far.", &c.allocationsTotal},
		{"joypod_turn_allocations_refused_total", "counter", "Connections refused because a bound was reached.", &c.refusedAllocations},
		{"joypod_turn_peers_refused_total", "counter", "Permissions refused to addresses that are no game node's.", &c.refusedPeers},
		{"joypod_turn_packets_refused_total", "counter", "Packets dropped because they were for another port, or another address.", &c.refusedPackets},
		{"joypod_turn_sent_bytes_total", "counter", "Bytes sent to game nodes.", &c.bytesToNodes},
		{"joypod_turn_received_bytes_total", "counter", "Bytes received from game nodes.", &c.bytesFromNodes},
		{"joypod_turn_node_addresses", "gauge", "Addresses of game nodes that may be reached.", &c.nodeAddresses},
	} {
		fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s %s\n%s %d\n", figure.name, figure.help, figure.name, figure.kind, figure.name, figure.value.Load())
	}
}

package main

import (
	"net"
	"net/netip"
	"sync/atomic"
)

// peers decides where the relay may send: to the media ports of game nodes over UDP, and nowhere else. Before the first list of game nodes it
// may not send at all. Every packet is checked, so a node that is no longer a game node becomes unreachable at once.
type peers struct {
	ports     []portRange
	addresses atomic.Pointer[map[netip.Addr]struct{}]
	counts    *counts
}

func newPeers(ports []portRange, counts *counts) *peers { return &peers{ports: ports, counts: counts} }

// isKnown returns whether the relay has received the list of game nodes.
func (p *peers) isKnown() bool { return p.addresses.Load() != nil }

// set replaces the game nodes' addresses. It always skips loopback, link-local and multicast addresses: no node is reachable at one, and they
// lead to services on the relay's machine and to cloud metadata services.
func (p *peers) set(addresses []netip.Addr) {
	allowed := make(map[netip.Addr]struct{}, len(addresses))
	for _, address := range addresses {
		address = address.Unmap()
		if address.IsGlobalUnicast() && address.Zone() == "" {
			allowed[address] = struct{}{}
		}
	}
	p.addresses.Store(&allowed)
	p.counts.nodeAddresses.Store(int64(len(allowed)))
}

func (p *peers) hasAddress(address netip.Addr) bool {
	allowed := p.addresses.Load()
	if allowed == nil {
		return false
	}
	_, isAllowed := (*allowed)[address.Unmap()]
	return isAllowed
}

// permits decides requests for permissions and channels, which apply to whole addresses.
func (p *peers) permits(_ net.Addr, ip net.IP) bool {
	address, isAddress := netip.AddrFromSlice(ip)
	if isAddress && p.hasAddress(address) {
		return true
	}
	p.counts.refusedPeers.Add(1)
	return false
}

// mayReach decides whether a packet may be exchanged with the address.
func (p *peers) mayReach(to net.Addr) bool {
	udp, isUDP := to.(*net.UDPAddr)
	if !isUDP {
		return false
	}
	end := udp.AddrPort()
	if !p.hasAddress(end.Addr()) {
		return false
	}
	for _, ports := range p.ports {
		if end.Port() >= ports.first && end.Port() <= ports.last {
			return true
		}
	}
	return false
}

package main

import (
	"net"
	"net/netip"
	"sync/atomic"
)

// peers decides what the relay may send to: the media ports of game nodes, over UDP, and nothing else. Until the relay has been told of game
// nodes it may send to nothing at all. Every packet is checked, so that a node that has stopped being a game node is out of reach at once.
type peers struct {
	ports     []portRange
	addresses atomic.Pointer[map[netip.Addr]struct{}]
	counts    *counts
}

func newPeers(ports []portRange, counts *counts) *peers { return &peers{ports: ports, counts: counts} }

// isKnown says whether the relay has been told of the game nodes.
func (p *peers) isKnown() bool { return p.addresses.Load() != nil }

// set replaces the game nodes' addresses. It leaves out loopback, link-local and multicast addresses, whoever names them: no node is reached at
// one, and they lead to services of the relay's own machine and to clouds' metadata services.
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

// permits answers requests for permissions and channels, which are for whole addresses.
func (p *peers) permits(_ net.Addr, ip net.IP) bool {
	address, isAddress := netip.AddrFromSlice(ip)
	if isAddress && p.hasAddress(address) {
		return true
	}
	p.counts.refusedPeers.Add(1)
	return false
}

// mayReach answers for each packet.
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

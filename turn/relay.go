package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/pion/logging"
	"github.com/pion/turn/v5"
)

var errOnlyUDP = errors.New("only UDP is relayed")

// startRelay listens on all configured addresses and starts relaying. It sends the error to `failed` if reading UDP fails later.
func startRelay(config config, peers *peers, counts *counts, failed chan<- error, logger *slog.Logger) (*turn.Server, error) {
	own := ownAddress()
	generator := &udpSockets{own: own, peers: peers, counts: counts}
	packets, err := net.ListenPacket("udp", config.udp)
	if err != nil {
		return nil, fmt.Errorf("listening on UDP: %w", err)
	}
	unallocated := newUnallocated(config.unallocatedMax)
	listeners, err := listenStreams(config, unallocated, counts, logger)
	if err != nil {
		return nil, err
	}
	streams := make([]turn.ListenerConfig, 0, len(listeners))
	for _, listener := range listeners {
		streams = append(streams, turn.ListenerConfig{Listener: listener, RelayAddressGenerator: generator, PermissionHandler: peers.permits})
	}
	quota := newQuota(config.allocationsMax, counts)
	return turn.NewServer(turn.ServerConfig{
		Realm:             config.realm,
		AuthHandler:       admitUsers(config.secret, quota, time.Now),
		QuotaHandler:      func(user, _ string, _ net.Addr) bool { return quota.allows(user) },
		PacketConnConfigs: []turn.PacketConnConfig{{PacketConn: &clientSocket{packets, failed}, RelayAddressGenerator: generator, PermissionHandler: peers.permits}},
		ListenerConfigs:   streams,
		EventHandler: turn.EventHandler{
			OnAllocationCreated: func(client, own net.Addr, _, user, _ string, _ net.Addr, _ int) {
				quota.opened(user)
				unallocated.allocated(client, own)
			},
			OnAllocationDeleted: func(client, own net.Addr, _, user, _ string) {
				quota.closed(user)
				unallocated.released(client, own)
			},
			OnChannelCreated: func(_, _ net.Addr, _, user, _ string, _, _ net.Addr, _ uint16) { quota.channelOpened(user) },
			OnChannelDeleted: func(_, _ net.Addr, _, user, _ string, _, _ net.Addr, _ uint16) { quota.channelClosed(user) },
		},
		// Browsers never request an address family. If the relay has IPv4, it reaches game nodes over IPv4.
		StrictAddressFamily: own.To4() != nil,
		LoggerFactory:       silentLogs(),
	})
}

// silentLogs disables pion's logs, because any client could fill them. The metrics count invalid requests instead.
func silentLogs() logging.LoggerFactory {
	factory := logging.NewDefaultLoggerFactory()
	factory.DefaultLogLevel = logging.LogLevelDisabled
	return factory
}

// clientSocket reports read errors. After one, pion silently stops reading, and the relay would look healthy without UDP.
type clientSocket struct {
	net.PacketConn
	failed chan<- error
}

func (s *clientSocket) ReadFrom(packet []byte) (int, net.Addr, error) {
	size, from, err := s.PacketConn.ReadFrom(packet)
	if err != nil && !errors.Is(err, net.ErrClosed) {
		select {
		case s.failed <- fmt.Errorf("reading UDP: %w", err):
		default:
		}
	}
	return size, from, err
}

// udpSockets opens the sockets towards game nodes. It supports only UDP, so no TCP connection can be opened through the relay.
type udpSockets struct {
	own    net.IP
	peers  *peers
	counts *counts
}

func (*udpSockets) Validate() error { return nil }

// AllocatePacketConn opens a socket on any free port. It ignores a port requested by the client.
func (s *udpSockets) AllocatePacketConn(wanted turn.AllocateListenerConfig) (net.PacketConn, net.Addr, error) {
	if wanted.Network != "udp4" && wanted.Network != "udp6" {
		return nil, nil, errOnlyUDP
	}
	socket, err := net.ListenPacket(wanted.Network, net.JoinHostPort("", "0"))
	if err != nil {
		return nil, nil, err
	}
	_, port, err := net.SplitHostPort(socket.LocalAddr().String())
	if err != nil {
		return nil, nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, nil, err
	}
	return &peerSocket{PacketConn: socket, peers: s.peers, counts: s.counts}, &net.UDPAddr{IP: s.shown(wanted.Network), Port: number}, nil
}

func (*udpSockets) AllocateListener(turn.AllocateListenerConfig) (net.Listener, net.Addr, error) {
	return nil, nil, errOnlyUDP
}

func (*udpSockets) AllocateConn(turn.AllocateConnConfig) (net.Conn, error) { return nil, errOnlyUDP }

// shown returns the relayed address reported to clients. Only game nodes send to it, and they learn it from the packets that they receive.
func (s *udpSockets) shown(network string) net.IP {
	if (network == "udp4") == (s.own.To4() != nil) {
		return s.own
	}
	if network == "udp4" {
		return net.IPv4(192, 0, 2, 1)
	}
	return net.ParseIP("2001:db8::1")
}

// peerSocket sends only to allowed peers, regardless of earlier permissions, and drops packets from other addresses.
type peerSocket struct {
	net.PacketConn
	peers  *peers
	counts *counts
}

// WriteTo silently drops packets to other addresses, like a network would, because an error would end the whole allocation.
func (s *peerSocket) WriteTo(packet []byte, to net.Addr) (int, error) {
	if !s.peers.mayReach(to) {
		s.counts.refusedPackets.Add(1)
		return len(packet), nil
	}
	s.counts.bytesToNodes.Add(int64(len(packet)))
	return s.PacketConn.WriteTo(packet, to)
}

func (s *peerSocket) ReadFrom(packet []byte) (int, net.Addr, error) {
	for {
		size, from, err := s.PacketConn.ReadFrom(packet)
		if err != nil {
			return size, from, err
		}
		if s.peers.mayReach(from) {
			s.counts.bytesFromNodes.Add(int64(size))
			return size, from, nil
		}
	}
}

// ownAddress returns an address of this machine, preferring IPv4.
func ownAddress() net.IP {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return net.IPv4(192, 0, 2, 1)
	}
	var found net.IP
	for _, address := range addresses {
		network, isNetwork := address.(*net.IPNet)
		if !isNetwork || !network.IP.IsGlobalUnicast() {
			continue
		}
		if network.IP.To4() != nil {
			return network.IP
		}
		found = network.IP
	}
	if found == nil {
		return net.IPv4(192, 0, 2, 1)
	}
	return found
}

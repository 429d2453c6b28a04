package demux

import "edemux/flowtable"

// Protocol numbers of the sockets that exist here.
const (
	TCP = 6
	UDP = 17
)

// SockID names a socket. It is stable while the socket lives and is never
// given to another one. 0 is no socket. IDs are handed out in the order in
// which sockets are bound, from 1 up, so they index compact arrays.
type SockID = uint32

// maxSock is the largest SockID; the bit above marks references to chains.
const maxSock = 1<<31 - 1

// Flags are facts about a socket.
type Flags uint16

const (
	IsUDP       Flags = 1 << iota
	IsV6              // AF_INET6, also when its addresses are v4-mapped
	V6Only            // IPV6_V6ONLY, given or implied by a specific IPv6 address
	Connected         // has a remote: UDP connected, TCP established
	Listening         // TCP LISTEN
	Reuseport         // SO_REUSEPORT
	Reuseaddr         // SO_REUSEADDR
	NoCheck6Rx        // UDP_NO_CHECK6_RX: takes IPv6 datagrams without a checksum
	McastNotAll       // IP_MULTICAST_ALL or IPV6_MULTICAST_ALL cleared
	HasJoins          // Info.Joins is not empty
	Closed            // gone; flows that it accepted may still name it
	stale4            // UDP: connected again, so the four-tuple table has it under its first remote
	autoBound         // TCP: connect chose the port (SOCK_CONNECT_BIND)
)

// Sock is what the packet path needs of a socket: one cache line, so that
// millions of connected sockets stay affordable. What only people ask for is
// in Info.
type Sock struct {
	Laddr flowtable.Addr // wildcard: Any4 or Any6
	Faddr flowtable.Addr // valid when Connected
	Lport uint16         // host order
	Fport uint16         // host order, valid when Connected
	Flags Flags
	VRF   uint16 // index of the governing VRF: its device's, else default
	Bdi   uint32 // sk_bound_dev_if; 0 = unbound

	Worker      uint32 // global worker index
	Group       uint32 // 1 + index of the reuseport group; 0 = none
	IncomingCPU int32  // SO_INCOMING_CPU; -1 = none
	order       int32  // position in the chain of (address, port): lower is nearer the head
	aux         int32  // listener: backlog; connected UDP: when it connected (hash4 inserts at the head)
}

// Has reports whether all flags in f are set.
func (s *Sock) Has(f Flags) bool { return s.Flags&f == f }

// Proto is 6 or 17.
func (s *Sock) Proto() uint8 {
	if s.Flags&IsUDP != 0 {
		return UDP
	}
	return TCP
}

// Family is 4 (AF_INET) or 6 (AF_INET6).
func (s *Sock) Family() uint8 {
	if s.Flags&IsV6 != 0 {
		return 6
	}
	return 4
}

// Backlog is the second argument of listen(); 0 unless Listening.
func (s *Sock) Backlog() int {
	if s.Flags&Listening == 0 {
		return 0
	}
	return int(s.aux)
}

// Alive reports whether the socket exists in the View that s came from.
func (s *Sock) Alive() bool { return s.Lport != 0 }

// Key is the identity of a connected socket's flow.
func (s *Sock) Key() flowtable.Key {
	return flowtable.Key{Laddr: s.Laddr, Faddr: s.Faddr, Lport: s.Lport, Fport: s.Fport}
}

// wild reports whether the local address is a wildcard.
func (s *Sock) wild() bool { return s.Laddr.IsAny() }

// Info is the part of a socket that only the control path and multicast
// delivery look at.
type Info struct {
	Name  string // of the member, as shown in decisions
	UID   uint32
	Dev   string // SO_BINDTODEVICE, "" when unbound
	Joins []Join

	group string // what a group that the socket founds is called
}

// Join is a multicast membership of a socket.
type Join struct {
	Group   flowtable.Addr
	Ifindex uint32           // of the interface joined on
	Include []flowtable.Addr // sources; empty: any (EXCLUDE mode with an empty list)
}

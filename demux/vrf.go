package demux

import (
	"edemux/flowtable"

	"github.com/gaissmai/bart"
)

// VRF is one routing domain with what Linux keeps per netns: routes, sysctls,
// established tables. Index 0 is "default", with Ifindex 0.
type VRF struct {
	Name    string
	Index   uint16
	Ifindex uint32         // of the L3 master device; 0 for default
	FibGen  uint32         // rises with each change of this VRF's addresses and routes
	Seed    flowtable.Seed // mixed into every hash of this VRF's flows
	Sysctl  Sysctl

	// TCP and UDP are the established tables. The Builder carries what
	// SetSpaces gave it and looks at neither.
	TCP, UDP *flowtable.Space

	every     bool              // no local addresses configured: every address is local
	local     *bart.Lite        // addresses delivered here
	broadcast []flowtable.Addr  // besides 255.255.255.255
	routes    *bart.Table[Nhop] // everything else: forward
}

// Nhop is where a route leads.
type Nhop struct{ Ifindex uint32 }

// Sysctl holds the switches of one VRF, under their Linux names.
type Sysctl struct {
	IPEarlyDemux, TCPEarlyDemux, UDPEarlyDemux bool

	PortLow, PortHigh uint16        // ip_local_port_range, inclusive
	Reserved          *[1024]uint64 // ip_local_reserved_ports, bit p&63 of word p>>6; nil = none

	TCPMidstream     bool // a segment of an unknown flow for a listener creates the flow
	TCPMigrateReq    bool
	TCPTwReuse       int // 0 off, 1 on, 2 loopback only
	TCPMaxSynBacklog int
	TCPMaxTwBuckets  int
	TCPIdleTimeout   int64 // ns; 0 = never
}

// DefaultSysctl is what a fresh Linux netns has, with the tables' default size.
func DefaultSysctl() Sysctl {
	return Sysctl{
		IPEarlyDemux: true, TCPEarlyDemux: true, UDPEarlyDemux: true,
		PortLow: 32768, PortHigh: 60999,
		TCPTwReuse: 2, TCPMaxSynBacklog: 512, TCPMaxTwBuckets: 32768,
	}
}

// ReservedPort reports whether automatic port selection must skip p.
func (s *Sysctl) ReservedPort(p uint16) bool {
	return s.Reserved != nil && s.Reserved[p>>6]>>(p&63)&1 != 0
}

// Iface is an interface: a port, or a sub-interface for a stack of VLAN tags.
type Iface struct {
	Name     string
	Index    uint32 // ifindex, 1 and up, distinct from those of VRFs
	VRF      uint16 // index of its VRF
	Port     uint16 // index of the port in the configuration
	Loopback bool   // loopback addresses are no martians here
	// Dif and Sdif of packets that come in here, after the rewrite of
	// l3mdev_ip_rcv: (VRF, interface) in a VRF, (interface, 0) in default.
	Dif, Sdif uint32
}

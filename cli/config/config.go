package config

import (
	"io/fs"
	"net"
	"net/netip"
	"path/filepath"
	"time"

	"edemux/flowtable"
)

// Node is the part that every object of a configuration has: its place and the
// places of the values that were given.
type Node struct {
	pos Pos
	at  map[string]Pos
}

// Pos is the place of the object.
func (n *Node) Pos() Pos { return n.pos }

// At is the place of the value of key, or of the object when key is absent.
func (n *Node) At(key string) Pos {
	if p, ok := n.at[key]; ok {
		return p
	}
	return n.pos
}

// Has reports whether key stands in the file.
func (n *Node) Has(key string) bool { _, ok := n.at[key]; return ok }

func (n *Node) base() *Node { return n }

// Ref is the name of another object, with its place.
type Ref struct {
	Pos
	Name string
}

// Config is a checked configuration: every reference leads somewhere, every
// absent key has its default. It is not changed after Load, but by Set.
type Config struct {
	Node
	list *list

	File     string // as named in errors
	Warnings []Problem

	Secret    *flowtable.Secret // nil: the command chooses
	Checksums Checksums
	Match     Match
	Sysctl    GlobalSysctl
	Lcores    []int // CPU numbers
	EAL       []string
	Control   Control
	Limits    Limits
	Ports     []Port
	VRFs      []VRF // the first is always default
	Workers   []Pool
	Sockets   []Socket // in the order of creation
	Flows     Flows
	Rules     []Rule // first match wins
	Script    string // file name, "" for none

	// Bases are the global indices of the first workers of pools, where that is
	// not the order of Workers: pools that were added to a running engine.
	Bases map[string]uint32
}

// Match is early_demux_match.
type Match uint8

// MatchDefault leaves the choice to the command: linux in replay, explain and
// judge, exact in run and bench pipeline.
const (
	MatchDefault Match = iota
	MatchLinux
	MatchExact
)

// Checksums says which checksums are verified (false: trusted).
type Checksums struct {
	Node
	IP, L4 bool
}

// GlobalSysctl holds what Linux has per netns and edemux once.
type GlobalSysctl struct {
	Node
	TCPL3mdevAccept, UDPL3mdevAccept bool
}

// Control is the control socket and the metrics address.
type Control struct {
	Node
	Socket  string // path
	Mode    fs.FileMode
	Metrics netip.AddrPort // invalid: no metrics listener
}

// Limits bounds memory outside the flow tables.
type Limits struct {
	Node
	FragBytes     int64 // bytes of fragments held
	Conversations int   // endpoint pairs that `--local auto` remembers
}

// Port is a source of frames.
type Port struct {
	Node
	Name   string
	Source Source
	MAC    net.HardwareAddr // nil: unknown
	Queues int
	CPUs   []int // CPU number of each queue; len == Queues
	VLANs  VLANs
}

// Source is what a port reads: a capture, a DPDK device, or neither (then the
// command line names the capture).
type Source struct {
	Node
	PCAP  string // file name
	DPDK  string // EAL device string
	Loop  int    // passes; 0: for ever
	Speed Speed
}

// SpeedKind says how frames of a capture are paced.
type SpeedKind uint8

// Pacing: as fast as possible, by capture time, by a multiple of it, by a rate.
const (
	SpeedMax SpeedKind = iota
	SpeedReal
	SpeedTimes
	SpeedPPS
)

// Speed is `max`, `real`, `Nx` or `Npps`. N is the factor or the packets per second.
type Speed struct {
	Kind SpeedKind
	N    float64
}

// VLANs are the sub-interfaces of a port.
type VLANs struct {
	Any bool // every tag stack belongs to the port itself
	Sub []Sub
}

// Sub is a sub-interface: its tag stack (VIDs outermost first, 1 to 4 of them).
type Sub struct {
	Ref
	Stack []uint16
}

// VRF is a VRF device with tables and sysctls of its own.
type VRF struct {
	Node
	Name       string
	Interfaces []Ref
	Ehash      *Ehash // nil: shares the tables of default (never nil in default)
	EveryLocal bool   // `local` absent: every unicast address is delivered here
	Local      []netip.Prefix
	Broadcast  []netip.Addr
	Routes     []Route
	Sysctl     Sysctl
}

// Full is the policy of a full table.
type Full uint8

// A new flow is dropped, evicts an old half-open one, or passes without state.
const (
	FullDrop Full = iota
	FullEvict
	FullPass
)

// Ehash sizes the flow tables of a VRF.
type Ehash struct {
	Node
	TCP, UDP uint32 // start size in buckets, a power of two
	Max      uint32 // largest size of each table in buckets, a power of two
	Flows    uint64 // most flows
	Full     Full
}

// Route forwards what is not local.
type Route struct {
	Node
	To  netip.Prefix
	Via Ref // interface
}

// PortRange is an inclusive range of host-order port numbers.
type PortRange struct{ Low, High uint16 }

// Sysctl holds the switches of one VRF under their Linux names.
type Sysctl struct {
	Node
	IPEarlyDemux, TCPEarlyDemux, UDPEarlyDemux bool
	LocalPortRange                             PortRange
	ReservedPorts                              []PortRange
	TCPTwReuse, TCPMigrateReq                  int
	TCPMaxSynBacklog, TCPMaxTwBuckets          int
	TCPMidstream                               int
	TCPIdleTimeout                             time.Duration // 0: never
}

// HandlerKind is what a worker does with its packets.
type HandlerKind uint8

// Handlers.
const (
	HandlerCount HandlerKind = iota
	HandlerTouch
	HandlerPcap
	HandlerEcho
	HandlerPort
)

// Handler is a worker's handler; Port is set for HandlerPort.
type Handler struct {
	Kind HandlerKind
	Port Ref
}

// Pool is a set of workers POOL/0 to POOL/Count-1.
type Pool struct {
	Node
	Name    string
	Count   int
	Handler Handler
	Ring    int   // descriptors, a power of two
	Lcores  []int // member i on Lcores[i mod n]; empty: run to completion
}

// WorkerRef names one worker, POOL/INDEX.
type WorkerRef struct {
	Ref
	Pool  string
	Index int
}

// Socket is one socket, or with Workers one per worker of a pool.
type Socket struct {
	Node
	Name                 string
	Proto                uint8          // 6 or 17
	Bind, Connect        netip.AddrPort // invalid: not given; v4-mapped stays so
	Laddr                netip.Addr     // invalid: not given
	Dev                  Ref            // "" for unbound
	Worker               WorkerRef
	Workers              Ref
	Reuseport, Reuseaddr bool
	V6Only, NoCheck6Rx   bool
	UID                  uint32
	Backlog              int
	IncomingCPU          int32 // -1: none
	Steer                *Steer
	Join                 []Join
}

// Family is 4 or 6, by bind, else connect, else laddr.
func (s *Socket) Family() uint8 {
	a := s.Bind.Addr()
	if !a.IsValid() {
		a = s.Connect.Addr()
	}
	if !a.IsValid() {
		a = s.Laddr
	}
	if a.Is4() {
		return 4
	}
	return 6
}

// InGroup reports whether the socket takes part in a reuseport group.
func (s *Socket) InGroup() bool { return s.Reuseport || s.Workers.Name != "" }

// Steer is the steering of a group; exactly one field is set.
type Steer struct {
	Node
	ASM  string // bpf_asm text
	CBPF string // file name
	Mode string // hash or cpu
}

// Join is a multicast membership.
type Join struct {
	Node
	Group   netip.Addr
	Dev     Ref
	Include []netip.Addr // sources; empty: any
}

// Flows names files of many connected sockets.
type Flows struct {
	Node
	UDP string // file name, "" for none
}

// Rule picks a socket before the listeners, as BPF sk_lookup.
type Rule struct {
	Node
	Proto  uint8
	VRF    Ref          // "": every VRF
	Dst    netip.Prefix // invalid: any address of both families
	Ports  PortRange
	Socket Ref // a socket, a member NAME/I, or a group
}

// Path resolves a file name of the configuration: relative names are relative
// to the configuration file.
func (c *Config) Path(name string) string {
	if name == "" || name == "-" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(c.File), name)
}

// Pool returns the pool of that name, or nil.
func (c *Config) Pool(name string) *Pool {
	for i := range c.Workers {
		if c.Workers[i].Name == name {
			return &c.Workers[i]
		}
	}
	return nil
}

// VRF returns the VRF of that name, or nil.
func (c *Config) VRF(name string) *VRF {
	for i := range c.VRFs {
		if c.VRFs[i].Name == name {
			return &c.VRFs[i]
		}
	}
	return nil
}

package demux

// Path says how a packet came to its socket.
type Path uint8

const (
	PathNone        Path = iota
	PathEarly            // found by early demux
	PathEstablished      // four-tuple found by the full lookup
	PathRule             // chosen by a lookup rule
	PathListener         // TCP listener or unconnected UDP socket by score
	PathMcast            // one of the receivers of a multicast or broadcast datagram
	PathICMP             // the socket that an ICMP error speaks of
	NPaths
)

var pathNames = [NPaths]string{"-", "early", "established", "rule", "listener", "mcast", "icmp"}

// String is the word used in TSV and JSON.
func (p Path) String() string { return pathNames[p] }

// By says what chose the member of a reuseport group.
type By uint8

const (
	ByNone     By = iota // no group took part
	ByProgram            // the group's program
	ByHash               // the flow hash, no program attached
	ByCPU                // SO_INCOMING_CPU equal to the packet's CPU
	ByFallback           // the flow hash, after the program named no member
	NBy
)

var byNames = [NBy]string{"-", "program", "hash", "cpu", "fallback"}

// String is the word used in JSON.
func (b By) String() string { return byNames[b] }

// Result is the outcome of a lookup. The zero Result is "no socket".
type Result struct {
	Sock   SockID
	Group  uint32 // 1 + index of the group that chose; 0 = none
	Member int32  // index of Sock in that group
	Path   Path
	By     By
}

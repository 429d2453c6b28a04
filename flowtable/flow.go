package flowtable

import "errors"

// State is the TCP state of a flow; connected UDP sockets are Established.
type State uint8

// The states that an entry of the ehash can have.
const (
	Established State = iota
	NewSynRecv
	TimeWait
	numStates = 3
)

// String returns the kernel's name of the state.
func (s State) String() string {
	switch s {
	case Established:
		return "ESTABLISHED"
	case NewSynRecv:
		return "NEW_SYN_RECV"
	case TimeWait:
		return "TIME_WAIT"
	}
	return "?"
}

// Dev is the device side of a lookup: the interface a packet is considered to
// arrive on, the enslaved port it came through (0 without a VRF), and the
// l3mdev_accept sysctl of the protocol.
type Dev struct {
	Dif, Sdif uint32
	Accept    bool
}

// Match is inet_bound_dev_eq: whether a socket bound to bdi (0: unbound) takes
// the packet.
func (d Dev) Match(bdi uint32) bool {
	if bdi == 0 {
		return d.Sdif == 0 || d.Accept
	}
	return bdi == d.Dif || bdi == d.Sdif
}

// Flow is what the table holds beside the key.
type Flow struct {
	Sock     uint32 // socket number, never 0
	Bdi      uint32 // bound device (sk_bound_dev_if), 0 = none
	State    State
	Deadline int64  // ns; the flow is absent from this instant on; 0 = never
	Next     uint32 // next expected TCP sequence number
	FibGen   uint32 // FIB generation of the last route lookup
}

// Ref says where a flow lies. 0 is "absent". See the package comment for how
// long it is good.
type Ref uint64

// Policy says what Insert does when a space has as many flows as it may have.
type Policy uint8

// Policies of DESIGN 7. Evict takes the oldest NEW_SYN_RECV, then the oldest
// TIME_WAIT of the space in the 8 neighbouring buckets, never ESTABLISHED.
const (
	Drop  Policy = iota // ErrFull
	Evict               // make room, else ErrFull
	Pass                // ErrPass: the caller steers without a flow
)

// String returns the policy's name in the configuration.
func (p Policy) String() string {
	switch p {
	case Drop:
		return "drop"
	case Evict:
		return "evict"
	case Pass:
		return "pass"
	}
	return "?"
}

// Errors of the table. They are values: the packet path compares, never wraps.
var (
	ErrExist        = errors.New("flow exists")
	ErrFull         = errors.New("flow table full")
	ErrPass         = errors.New("flow table full, steer without a flow")
	ErrContended    = errors.New("bucket contended")
	ErrGone         = errors.New("flow gone")
	ErrTimeWaitFull = errors.New("too many TIME_WAIT entries")
	ErrRemoved      = errors.New("flow space removed")
)

// Limits bound one space.
type Limits struct {
	Flows    uint64 // most flows, 0: the table's
	Full     Policy // what Insert does at that number
	TimeWait uint64 // tcp_max_tw_buckets, 0: no limit
	// OnEvict is told of each flow that Evict removed, by the thread that
	// inserts, after the fact. nil: nobody is.
	OnEvict func(Flow)
}

// MaxTimeWait is Linux's default for tcp_max_tw_buckets of a table with so
// many entries (buckets at the start).
func MaxTimeWait(entries uint32) int { return int(entries / 2) }

// MaxSynBacklog is Linux's default for tcp_max_syn_backlog.
func MaxSynBacklog(entries uint32) int { return max(128, int(entries/128)) }

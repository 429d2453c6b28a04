package dataplane

import (
	"edemux/dataplane/packet"
	"edemux/flowtable"
)

// endpoint is one side of a conversation.
type endpoint struct {
	addr flowtable.Addr
	port uint16
}

// conversation is an unordered endpoint pair: the smaller endpoint first.
type conversation struct {
	lo, hi endpoint
	proto  uint8
	ports  bool
}

// LocalAuto guesses which side of each conversation is this host, for captures
// that come without a configuration and do not say it: the destination of the first frame, but
// the source of a SYN-ACK, and the port below 1024 of a TCP conversation that
// is joined in the middle. Frames without ports (fragments, ICMP) follow the
// last conversation between their addresses.
//
// It remembers at most limit conversations; beyond that a new conversation's
// destination is taken as local each time and Forgotten counts the frames.
//
// One thread, in input order.
type LocalAuto struct {
	limit     int
	local     map[conversation]bool // true: lo is the local side
	Forgotten uint64
}

// NewLocalAuto returns a resolver bounded to limit conversations.
func NewLocalAuto(limit int) *LocalAuto {
	return &LocalAuto{limit: limit, local: make(map[conversation]bool)}
}

// Conversations returns how many are remembered.
func (l *LocalAuto) Conversations() int { return len(l.local) }

// Outgoing reports whether the frame leaves the local side.
func (l *LocalAuto) Outgoing(m *packet.Meta) bool {
	src, dst := endpoint{addr: m.Saddr}, endpoint{addr: m.Daddr}
	pair, swapped := pairOf(src, dst)
	if !m.Has(packet.HasPorts) {
		loLocal, known := l.local[pair]
		if !known {
			loLocal = swapped // dst is lo
			l.remember(pair, loLocal)
		}
		return loLocal != swapped
	}
	src.port, dst.port = m.Sport, m.Dport
	c, cswap := pairOf(src, dst)
	c.proto, c.ports = m.Proto, true
	loLocal, known := l.local[c]
	if !known {
		loLocal = cswap != sourceIsLocal(m)
		l.remember(c, loLocal)
	}
	outgoing := loLocal != cswap
	l.remember(pair, outgoing != swapped)
	return outgoing
}

// Learn records the direction of a frame that says it itself, for frames of the
// same conversation that do not.
func (l *LocalAuto) Learn(m *packet.Meta, outgoing bool) {
	src, dst := endpoint{addr: m.Saddr}, endpoint{addr: m.Daddr}
	c, swapped := pairOf(src, dst)
	l.remember(c, outgoing != swapped)
	if m.Has(packet.HasPorts) {
		src.port, dst.port = m.Sport, m.Dport
		c, swapped = pairOf(src, dst)
		c.proto, c.ports = m.Proto, true
		l.remember(c, outgoing != swapped)
	}
}

// sourceIsLocal judges the first frame of a conversation.
func sourceIsLocal(m *packet.Meta) bool {
	if !m.Has(packet.HasTCP) {
		return false
	}
	switch m.TCPFlags & (packet.SYN | packet.ACK) {
	case packet.SYN:
		return false
	case packet.SYN | packet.ACK:
		return true
	}
	low := m.Sport < 1024
	return low != (m.Dport < 1024) && low
}

func (l *LocalAuto) remember(c conversation, loLocal bool) {
	if _, ok := l.local[c]; !ok && len(l.local) >= l.limit {
		l.Forgotten++
		return
	}
	l.local[c] = loLocal
}

// pairOf orders two endpoints; swapped says that src is the larger one.
func pairOf(src, dst endpoint) (c conversation, swapped bool) {
	if less(dst, src) {
		return conversation{lo: dst, hi: src}, true
	}
	return conversation{lo: src, hi: dst}, false
}

func less(a, b endpoint) bool {
	if a.addr.Hi != b.addr.Hi {
		return a.addr.Hi < b.addr.Hi
	}
	if a.addr.Lo != b.addr.Lo {
		return a.addr.Lo < b.addr.Lo
	}
	return a.port < b.port
}

// Package filter is the small language that picks frames and flows:
// `replay --filter`, `show flows --filter`, live capture.
//
//	udp and dst port 53 and not vrf red
//	host 10.0.0.1 or net 2001:db8::/32
//	tcp portrange 8000-8999 and vlan 100.10
//
// It reads like the language of tcpdump and where both know a word it means
// the same, also in that `and` and `or` have equal precedence and group from
// the left, and that `port 53 or 5353` repeats the word `port`. It differs
// where the rest of edemux differs: `proto`, `tcp` and the like look at the
// protocol after IPv6 extension headers, `vlan` does not shift what follows.
//
// Job: Compile checks an expression and turns it into a decision graph; Match
// walks the graph over a Subject.
// Threads: a Filter is immutable; any number of threads may match with it.
// Ownership: a Subject borrows its strings from the caller.
// Allocation: none after Compile.
package filter

import (
	"strings"

	"edemux/dataplane/packet"
	"edemux/flowtable"
)

// Fields is a set of what an expression looks at, or of what a caller knows.
type Fields uint16

// One bit per kind of test.
const (
	FieldIP Fields = 1 << iota // family and addresses
	FieldProto
	FieldPort
	FieldFrag
	FieldVLAN
	FieldVRF
	FieldVerdict
	FieldReason
	FieldPath
	FieldSocket
	FieldWorker
)

// What is known where a filter is used.
const (
	// FrameFields: a frame before its decision (replay --filter).
	FrameFields = FieldIP | FieldProto | FieldPort | FieldFrag | FieldVLAN | FieldVRF
	// FlowFields: an entry of a flow table (show flows).
	FlowFields = FieldIP | FieldProto | FieldPort | FieldVRF | FieldSocket | FieldWorker
	// DecisionFields: a frame with its decision (live capture, flight recorder).
	DecisionFields = FrameFields | FieldVerdict | FieldReason | FieldPath | FieldSocket | FieldWorker
)

// Subject is what a filter looks at. A field that is not there keeps its zero
// value and then no test of it matches (and `not` of the test does).
type Subject struct {
	Saddr, Daddr flowtable.Addr // of a flow: Daddr is the local side
	Sport, Dport uint16         // host order; valid if HasPorts
	IPVer        uint8          // 0: no addresses, 4, 6
	Proto        uint8          // valid if HasProto
	NVLAN        uint8
	HasPorts     bool
	HasProto     bool
	Fragment     bool
	VLANs        uint64 // up to four VIDs, 16 bits each, outermost lowest
	VRF          string
	Verdict      string // as in the decisions TSV; so are the next four
	Reason       string
	Path         string
	Socket       string
	Worker       string
}

// SetMeta replaces what a Subject takes from a parsed frame; the strings stay.
func (s *Subject) SetMeta(m *packet.Meta) {
	s.IPVer, s.Saddr, s.Daddr = 0, flowtable.Addr{}, flowtable.Addr{}
	if m.Has(packet.HasTuple) {
		s.IPVer, s.Saddr, s.Daddr = m.IPVer, m.Saddr, m.Daddr
	}
	s.HasPorts, s.Sport, s.Dport = m.Has(packet.HasPorts), m.Sport, m.Dport
	s.HasProto, s.Proto = m.Has(packet.HasProto), m.Proto
	s.Fragment = m.Has(packet.Fragment)
	s.VLANs, s.NVLAN = m.VLANs, m.NVLAN
}

// SetFlow replaces what a Subject takes from a flow table's key: the remote is
// the source, the local side the destination, as in the packets received.
func (s *Subject) SetFlow(k *flowtable.Key, proto uint8) {
	*s = Subject{
		Saddr: k.Faddr, Daddr: k.Laddr, Sport: k.Fport, Dport: k.Lport, HasPorts: true,
		IPVer: 6, Proto: proto, HasProto: true, VRF: s.VRF, Verdict: s.Verdict,
		Reason: s.Reason, Path: s.Path, Socket: s.Socket, Worker: s.Worker,
	}
	if k.Is4() {
		s.IPVer = 4
	}
}

// The two ends of the decision graph.
const (
	accept = -1
	reject = -2
)

// step is one test and where to go on its two outcomes.
type step struct {
	test   test
	jt, jf int32
}

// Filter is a compiled expression. The nil Filter matches everything.
type Filter struct {
	src    string
	steps  []step // jumps lead to lower indices, so every walk ends
	entry  int32
	fields Fields
}

// Compile checks expr and compiles it. The empty expression matches all. known
// says what the caller can fill in: a test of anything else is an error, since
// it could never match. Errors are *Error.
func Compile(expr string, known Fields) (*Filter, error) {
	n, err := parse(expr, known)
	if err != nil {
		return nil, err
	}
	f := &Filter{src: expr, entry: accept}
	if n != nil {
		f.entry = f.emit(n, accept, reject)
	}
	return f, nil
}

// emit adds the steps of n, last one first, and returns the entry.
func (f *Filter) emit(n *node, jt, jf int32) int32 {
	switch n.op {
	case opAnd:
		return f.emit(n.a, f.emit(n.b, jt, jf), jf)
	case opOr:
		return f.emit(n.a, jt, f.emit(n.b, jt, jf))
	case opNot:
		return f.emit(n.a, jf, jt)
	}
	f.steps = append(f.steps, step{n.test, jt, jf})
	f.fields |= n.test.kind.field()
	return int32(len(f.steps) - 1)
}

// Match reports whether the expression holds for s.
func (f *Filter) Match(s *Subject) bool {
	if f == nil {
		return true
	}
	pc := f.entry
	for pc >= 0 {
		st := &f.steps[pc]
		if st.test.holds(s) {
			pc = st.jt
		} else {
			pc = st.jf
		}
	}
	return pc == accept
}

// Fields is what the expression looks at: what a caller has to fill in.
func (f *Filter) Fields() Fields {
	if f == nil {
		return 0
	}
	return f.fields
}

// String is the expression as it was given.
func (f *Filter) String() string {
	if f == nil {
		return ""
	}
	return f.src
}

// Error is a mistake in an expression.
type Error struct {
	Expr string
	Pos  int // byte offset of the offending text, len(Expr) at the end
	Len  int // its length, 0 at the end
	Msg  string
}

// Error is one line; columns count characters from 1.
func (e *Error) Error() string {
	return "column " + itoa(len([]rune(e.Expr[:e.Pos]))+1) + ": " + e.Msg
}

// Caret is the expression and a second line that points at the mistake, for
// terminals. Control characters are shown as dots so that the marks line up.
func (e *Error) Caret() string {
	clean := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f {
				return '.'
			}
			return r
		}, s)
	}
	pad := strings.Repeat(" ", len([]rune(e.Expr[:e.Pos])))
	return clean(e.Expr) + "\n" + pad + strings.Repeat("^", max(1, len([]rune(e.Expr[e.Pos:e.Pos+e.Len]))))
}

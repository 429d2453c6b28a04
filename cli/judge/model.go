package judge

import (
	"fmt"
	"net/netip"
	"strings"
	"syscall"

	"edemux/demux"
	"edemux/demux/cbpf"
)

// Net is the network that both sides are given.
type Net struct {
	Ports []string // port i is interface Ports[i], a veth pair
	MACs  []uint64 // of the ports; 0: unicast to any MAC is taken
	Subs  []Sub
	Any   []bool // by port: frames belong to it whatever their tags
	VRFs  []VRF  // default first

	// TrustIP and TrustL4 say that checksums are not looked at: the kernel, which
	// does look, is then given frames whose checksums are made right.
	TrustIP, TrustL4 bool

	TCPL3mdevAccept, UDPL3mdevAccept bool
}

// Sub is a VLAN sub-interface of a port.
type Sub struct {
	Name  string
	Port  int
	Stack []uint16 // VIDs, outermost first
}

// VRF is a routing domain.
type VRF struct {
	Name      string
	Ifaces    []string // of other VRFs than default
	Every     bool     // every unicast address is local
	Local     []netip.Prefix
	Broadcast []netip.Addr
	Routes    []Route
	Sysctl    demux.Sysctl
}

// Route forwards what is not local.
type Route struct {
	To  netip.Prefix
	Via string // interface
}

// Socket describes a socket to open, step by step as in demux.Spec.
type Socket struct {
	Name, Group    string // Group: name of the reuseport group that it may found
	Proto, Family  uint8
	Bind, Connect  netip.AddrPort // invalid: none
	Laddr          netip.Addr     // what the route is to choose at connect; invalid: its choice
	Dev            string
	V6Only         bool
	Reuseport      bool
	Reuseaddr      bool
	NoCheck6Rx     bool
	McastNotAll    bool
	UID            uint32
	IncomingCPU    int32 // -1: none
	Listen         bool
	Backlog        int
	ProgBeforeBind string // bpf_asm text
	Joins          []Join
}

// Join is a multicast membership.
type Join struct {
	Group   netip.Addr
	Dev     string
	Sources []netip.Addr // empty: any
}

// Frame is a frame on the wire.
type Frame struct {
	Port int
	CPU  int
	Link uint16 // packet.Link*
	Data []byte
	Note string // what it is, for people
}

// Step is one thing to do; exactly one field is set.
type Step struct {
	Open    *Socket
	Close   string
	Connect *Connect
	Attach  *Attach
	Detach  string
	CPU     *SetCPU
	Sysctl  *SetSysctl
	Rules   []Rule
	Hangup  *Hangup
	Frame   *Frame
}

// Connect connects a socket that exists. Laddr as in Socket.
type Connect struct {
	Socket string
	To     netip.AddrPort
	Laddr  netip.Addr
}

// Attach gives the group of a socket a program.
type Attach struct{ Socket, ASM string }

// SetCPU is SO_INCOMING_CPU of a socket that exists.
type SetCPU struct {
	Socket string
	CPU    int32
}

// SetSysctl changes a switch of a VRF, by its name in Linux.
type SetSysctl struct {
	VRF   int
	Name  string
	Value int
}

// Rule sends packets to a socket before listeners are asked.
type Rule struct {
	Proto     uint8
	VRF       string       // "": in every one
	Dst       netip.Prefix // invalid: any of both families
	Low, High uint16
	Socket    string
	Group     bool // another member takes its place when it closes
}

// Hangup makes the kernel's application close an accepted connection. The
// engine does not see that: it sees only what the peer sends.
type Hangup struct{ Remote, Local netip.AddrPort }

// String describes a step in one line.
func (s *Step) String() string {
	switch {
	case s.Open != nil:
		if s.Open.ProgBeforeBind != "" {
			return fmt.Sprintf("open with program %q %s", s.Open.ProgBeforeBind, s.Open)
		}
		return "open " + s.Open.String()
	case s.Close != "":
		return "close " + s.Close
	case s.Connect != nil:
		return fmt.Sprintf("connect %s %s", s.Connect.Socket, s.Connect.To)
	case s.Attach != nil:
		return fmt.Sprintf("attach %s %q", s.Attach.Socket, s.Attach.ASM)
	case s.Detach != "":
		return "detach " + s.Detach
	case s.CPU != nil:
		return fmt.Sprintf("incoming-cpu %s %d", s.CPU.Socket, s.CPU.CPU)
	case s.Sysctl != nil:
		return fmt.Sprintf("sysctl %s=%d vrf %d", s.Sysctl.Name, s.Sysctl.Value, s.Sysctl.VRF)
	case s.Rules != nil:
		return fmt.Sprintf("rules %v", s.Rules)
	case s.Hangup != nil:
		return fmt.Sprintf("application closes %s -> %s", s.Hangup.Remote, s.Hangup.Local)
	case s.Frame != nil:
		return fmt.Sprintf("frame port %d cpu %d: %s", s.Frame.Port, s.Frame.CPU, s.Frame.Note)
	}
	return "nothing"
}

// String is the socket as the configuration writes it, without a worker.
func (s *Socket) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "{name: %s, proto: %s", s.Name, protoName(s.Proto))
	if s.Bind.IsValid() {
		fmt.Fprintf(&b, ", bind: %q", s.Bind)
	}
	if s.Connect.IsValid() {
		fmt.Fprintf(&b, ", connect: %q", s.Connect)
	}
	if s.Laddr.IsValid() {
		fmt.Fprintf(&b, ", laddr: %q", s.Laddr)
	}
	if s.Dev != "" {
		fmt.Fprintf(&b, ", dev: %s", s.Dev)
	}
	for _, f := range []struct {
		on   bool
		name string
	}{{s.V6Only, "v6only"}, {s.Reuseport, "reuseport"}, {s.Reuseaddr, "reuseaddr"}, {s.NoCheck6Rx, "no_check6_rx"}} {
		if f.on {
			fmt.Fprintf(&b, ", %s: true", f.name)
		}
	}
	if s.UID != 0 {
		fmt.Fprintf(&b, ", uid: %d", s.UID)
	}
	if s.IncomingCPU >= 0 {
		fmt.Fprintf(&b, ", incoming_cpu: %d", s.IncomingCPU)
	}
	s.writeJoins(&b)
	return b.String() + "}"
}

func (s *Socket) writeJoins(b *strings.Builder) {
	for i, j := range s.Joins {
		b.WriteString([2]string{", ", ", join: ["}[b2i(i == 0)])
		fmt.Fprintf(b, "{group: %q, dev: %s", j.Group, j.Dev)
		for k, a := range j.Sources {
			fmt.Fprintf(b, "%s%q", [2]string{", ", ", include: ["}[b2i(k == 0)], a)
		}
		b.WriteString([2]string{"}", "]}"}[b2i(len(j.Sources) > 0)])
	}
	if len(s.Joins) > 0 {
		b.WriteString("]")
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func protoName(p uint8) string {
	if p == demux.TCP {
		return "tcp"
	}
	return "udp"
}

// Refusal is a step that was not taken. Op is the first word of what failed:
// bind, listen, connect, join, attach, detach.
type Refusal struct {
	Op    string
	Errno syscall.Errno
}

// String is "ok" for nil.
func (r *Refusal) String() string {
	if r == nil {
		return "ok"
	}
	return r.Op + ": " + r.Errno.Error()
}

// same reports whether two sides answered alike.
func (r *Refusal) same(o *Refusal) bool {
	return (r == nil) == (o == nil) && (r == nil || r.Op == o.Op && r.Errno == o.Errno)
}

// assemble compiles a program; empty text is none.
func assemble(text string) (*cbpf.Program, error) {
	if text == "" {
		return nil, nil
	}
	return cbpf.Assemble(text)
}

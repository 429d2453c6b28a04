package judge

import (
	"fmt"
	"net/netip"
	"strings"

	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/demux"

	"golang.org/x/sys/unix"
)

// Scenario is a trial that can be repeated.
type Scenario struct {
	Name  string
	Net   Net
	Steps []Step
}

// Disagreement is the first step that the two sides took differently.
type Disagreement struct {
	Step int
	Text string // one line
}

// Trial takes steps on both sides. It belongs to the thread that made it.
type Trial struct {
	k       *Kernel
	g       *Engine
	c       *comparer
	net     Net
	num     uint64
	Frames  int      // that both sides got
	Alone   int      // that only the engine got: they leave the host, or are not IP
	Outcome *Outcome // of the last frame
	Verdict *Verdict
	Refused *Refusal // by the kernel, in the last step that opened or changed a socket
	// OwnPorts lets the engine choose local ports by itself instead of
	// following the kernel: for trials in which the choice does not matter.
	OwnPorts bool
}

// NewTrial makes the namespaces and the engine.
func NewTrial(n *Net) (*Trial, error) {
	t := &Trial{c: newComparer(), net: *n}
	t.net.VRFs = append([]VRF(nil), n.VRFs...)
	var err error
	if t.k, err = NewKernel(&t.net); err != nil {
		return nil, err
	}
	if t.g, err = NewEngine(&t.net); err != nil {
		t.k.Close()
		return nil, err
	}
	return t, nil
}

// Close ends both sides.
func (t *Trial) Close() {
	t.k.Close()
	t.g.Close()
}

// Unsure is how many frames could not be compared because the two sides' hashes
// had chosen differently before.
func (t *Trial) Unsure() int { return t.c.Unsure }

// Take takes one step. The string says how the sides differ, "" when they
// agree; the error is a failure of the judge.
func (t *Trial) Take(s *Step) (string, error) {
	if s.Frame != nil {
		t.num++
		return t.frame(&packet.Frame{Data: s.Frame.Data, WireLen: uint32(len(s.Frame.Data)), Port: uint16(s.Frame.Port),
			CPU: uint16(s.Frame.CPU), Link: s.Frame.Link, Num: t.num})
	}
	why, err := t.control(s)
	if err != nil {
		return "", err
	}
	return why, t.settle()
}

// settle makes counters and replies that a step caused by itself count for no
// frame.
func (t *Trial) settle() error {
	p := t.k.ports[0]
	if err := t.k.flush(p); err != nil {
		return err
	}
	if err := t.k.replies(&Outcome{}, &packet.Meta{}); err != nil {
		return err
	}
	return t.k.Rebase()
}

// frame sends a frame through both sides. Frames that leave the host, or that
// no IP layer gets, are for the engine alone.
func (t *Trial) frame(f *packet.Frame) (string, error) {
	var m packet.Meta
	t.g.Parse(f, &m)
	v := t.g.Send(f)
	t.Verdict, t.Outcome = v, nil
	dev := t.g.Ingress(f, &m)
	if dev == "" || m.Punt != mib.NotPunted || v.Verdict == mib.Egress {
		t.Alone++
		return "", nil
	}
	o, err := t.k.Send(f, &m, dev)
	if err != nil {
		return "", err
	}
	t.Outcome = o
	t.Frames++
	if why := t.c.frame(&m, o, v); why != "" {
		return fmt.Sprintf("edemux: %s; %s (%s)", v, why, o), nil
	}
	return "", nil
}

// subject is the socket that a step is about.
func (s *Step) subject() string {
	switch {
	case s.Connect != nil:
		return s.Connect.Socket
	case s.Attach != nil:
		return s.Attach.Socket
	case s.CPU != nil:
		return s.CPU.Socket
	}
	return s.Close + s.Detach
}

// control takes a step that is no frame. Steps about a socket that both sides
// refused to open are nothing to do.
func (t *Trial) control(s *Step) (string, error) {
	if name := s.subject(); name != "" && t.k.socks[name] == nil {
		return "", nil
	}
	switch {
	case s.Open != nil:
		return t.open(s.Open)
	case s.Close != "":
		t.c.closed(s.Close)
		if err := t.k.CloseSocket(s.Close); err != nil {
			return "", err
		}
		if err := t.g.CloseSocket(s.Close); err != nil {
			return "", err
		}
		return "", t.k.retarget(t.g.Targets())
	case s.Hangup != nil:
		return "", t.k.Hangup(s.Hangup)
	}
	t.c.changed()
	switch {
	case s.Connect != nil:
		return t.connect(s.Connect)
	case s.Attach != nil:
		return t.both(s.Attach.Socket, s.Attach.ASM)
	case s.Detach != "":
		return t.both(s.Detach, "")
	case s.CPU != nil:
		if err := t.k.SetCPU(s.CPU.Socket, s.CPU.CPU); err != nil {
			return "", err
		}
		_, err := t.g.SetCPU(s.CPU.Socket, s.CPU.CPU)
		return "", err
	case s.Sysctl != nil:
		return "", t.sysctl(s.Sysctl)
	case s.Rules != nil:
		rules := t.usable(s.Rules)
		if err := t.k.SetRules(rules); err != nil {
			return "", err
		}
		return "", t.g.SetRules(rules)
	}
	return "", nil
}

// usable leaves out the rules whose socket was refused or cannot be a target.
func (t *Trial) usable(rules []Rule) (all []Rule) {
	for _, r := range rules {
		s := t.k.socks[r.Socket]
		if s == nil || s.proto != r.Proto || s.spec.Connect.IsValid() || s.proto == demux.TCP && !s.spec.Listen || !takes(s.spec, r.Dst) {
			continue
		}
		all = append(all, r)
	}
	return all
}

// takes reports whether a socket can take packets to a prefix by its family.
func takes(s *Socket, dst netip.Prefix) bool {
	switch a := s.Bind.Addr(); {
	case !dst.IsValid():
		return true
	case dst.Addr().Is6():
		return s.Family == 6
	case s.Family == 6 && !a.Is4In6():
		return a.IsUnspecified() && !s.V6Only
	}
	return true
}

func (t *Trial) open(s *Socket) (string, error) {
	t.c.changed()
	theirs, err := t.k.Open(s)
	if err != nil {
		return "", err
	}
	t.Refused = theirs
	var local netip.AddrPort
	if theirs == nil {
		if local, err = t.k.LocalOf(s.Name); err != nil {
			return "", err
		}
		if t.OwnPorts {
			local = netip.AddrPortFrom(local.Addr(), s.Bind.Port())
		}
	}
	if theirs != nil && s.Connect.IsValid() {
		again := *s
		again.Laddr = t.laddr(s, s.Connect.Addr())
		s = &again
	}
	ours, err := t.g.Open(s, local)
	if err != nil {
		return "", err
	}
	if theirs != nil && ours == nil && theirs.Errno == unix.EADDRINUSE && s.Proto == demux.TCP && t.k.holdsPort(s.Bind.Port()) {
		t.c.Unsure++ // a connection keeps its port; the engine's flows are no sockets
		return "", t.g.CloseSocket(s.Name)
	}
	return refusals(ours, theirs), nil
}

// laddr is the address that a route would give a socket that connects to to:
// what the kernel chose, else what it would have chosen.
func (t *Trial) laddr(s *Socket, to netip.Addr) netip.Addr {
	if s.Laddr.IsValid() {
		return s.Laddr
	}
	a, _ := HostAddr(&t.net.VRFs[t.k.vrfOfDev(s.Dev)], to.Unmap().Is4())
	return a
}

func (t *Trial) connect(c *Connect) (string, error) {
	theirs, err := t.k.Connect(c)
	if err != nil {
		return "", err
	}
	t.Refused = theirs
	laddr := t.laddr(t.k.socks[c.Socket].spec, c.To.Addr())
	if theirs == nil {
		local, err := t.k.LocalOf(c.Socket)
		if err != nil {
			return "", err
		}
		laddr = local.Addr()
	}
	ours, err := t.g.Connect(c.Socket, c.To, laddr)
	if err != nil {
		return "", err
	}
	return refusals(ours, theirs), nil
}

func (t *Trial) both(name, asm string) (string, error) {
	theirs, err := t.k.Attach(name, asm)
	if err != nil {
		return "", err
	}
	t.Refused = theirs
	ours, err := t.g.Attach(name, asm)
	if err != nil {
		return "", err
	}
	return refusals(ours, theirs), nil
}

func refusals(ours, theirs *Refusal) string {
	if ours.same(theirs) {
		return ""
	}
	return fmt.Sprintf("edemux: %s; kernel: %s", ours, theirs)
}

// sysctl changes a switch on both sides.
func (t *Trial) sysctl(s *SetSysctl) error {
	y := &t.net.VRFs[s.VRF].Sysctl
	on := s.Value != 0
	switch s.Name {
	case "ip_early_demux":
		y.IPEarlyDemux = on
	case "tcp_early_demux":
		y.TCPEarlyDemux = on
	case "udp_early_demux":
		y.UDPEarlyDemux = on
	case "tcp_migrate_req":
		y.TCPMigrateReq = on
	default:
		return fmt.Errorf("sysctl %s: not one that trials change", s.Name)
	}
	if err := t.k.SetSysctls(s.VRF); err != nil {
		return err
	}
	return t.g.SetSysctls(s.VRF)
}

// Run takes all steps of a scenario on a thread of its own. It returns the
// first disagreement, or nil.
func Run(s *Scenario) (d *Disagreement, err error) {
	err = OnThread(func() error {
		t, err := NewTrial(&s.Net)
		if err != nil {
			return err
		}
		defer t.Close()
		for i := range s.Steps {
			why, err := t.Take(&s.Steps[i])
			if err != nil {
				return fmt.Errorf("step %d (%s): %w", i, s.Steps[i].String(), err)
			}
			if why != "" {
				d = &Disagreement{i, strings.TrimSpace(why)}
				return nil
			}
		}
		return nil
	})
	return d, err
}

package control

import (
	"fmt"
	"net/netip"
	"strings"

	"edemux/dataplane/mib"
	"edemux/demux"
	"edemux/flowtable"
)

func postExplain(s *State, r *request) (any, error) {
	var b Explain
	if err := r.body(&b); err != nil {
		return nil, err
	}
	return s.Explain(b)
}

// explainer follows one packet through the running state. It looks, changes
// nothing and counts nothing.
type explainer struct {
	*State
	view  *demux.View
	vrf   *demux.VRF
	q     demux.Query
	ifc   *demux.Iface
	out   *Explained
	quiet bool // decide only: what a switch would change
}

// fate is where a packet ends.
type fate struct {
	verdict mib.Verdict
	reason  mib.Reason
	path    demux.Path
	sock    demux.SockID
}

// Explain says which socket would get a packet now, and why: a TCP segment of
// the flow if there is one, else a SYN; or a datagram.
func (s *State) Explain(b Explain) (*Explained, error) {
	x := &explainer{State: s, view: s.o.Host.Engine.View(), out: &Explained{Epoch: s.o.Host.Engine.Epoch()}}
	if err := x.parse(b); err != nil {
		return nil, err
	}
	f := x.decide(x.vrf.Sysctl)
	x.result(f)
	x.switches(f)
	return x.out, nil
}

func (x *explainer) add(step, format string, args ...any) {
	if !x.quiet {
		x.out.Steps = append(x.out.Steps, ExplainStep{step, fmt.Sprintf(format, args...)})
	}
}

func (x *explainer) parse(b Explain) error {
	src, err1 := netip.ParseAddrPort(b.Src)
	dst, err2 := netip.ParseAddrPort(b.Dst)
	switch {
	case b.Proto != "tcp" && b.Proto != "udp":
		return badRequest("proto: %q: want tcp or udp", b.Proto)
	case err1 != nil || src.Addr().Zone() != "":
		return badRequest("src: %q: want ADDR:PORT, for IPv6 [ADDR]:PORT", b.Src)
	case err2 != nil || dst.Addr().Zone() != "":
		return badRequest("dst: %q: want ADDR:PORT, for IPv6 [ADDR]:PORT", b.Dst)
	case src.Addr().Is4() != dst.Addr().Is4():
		return badRequest("%s and %s are of different families", b.Src, b.Dst)
	}
	dev := b.Dev
	if dev == "" {
		dev = (*x.ifaces.Load())[0]
	}
	if x.ifc = x.view.IfaceByName(dev); x.ifc == nil {
		return noSuch("no interface %q", dev)
	}
	x.vrf = &x.view.VRFs[x.ifc.VRF]
	proto := uint8(demux.UDP)
	if b.Proto == "tcp" {
		proto = demux.TCP
	}
	x.q = demux.Query{
		Saddr: flowtable.AddrFrom(src.Addr()), Daddr: flowtable.AddrFrom(dst.Addr()), Sport: src.Port(), Dport: dst.Port(),
		Proto: proto, V6: !src.Addr().Is4(), Dif: x.ifc.Dif, Sdif: x.ifc.Sdif, VRF: x.ifc.VRF, Hasher: x.o.Host.Builder.Hasher,
	}
	x.add("packet", "%s %s > %s", b.Proto, src, dst)
	x.add("device", "%s, VRF %s: dif %s, sdif %s", dev, x.vrf.Name, orNone(deviceName(x.view, x.ifc.Dif)), orNone(deviceName(x.view, x.ifc.Sdif)))
	return nil
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// decide follows the walk with the switches given.
func (x *explainer) decide(sw demux.Sysctl) fate {
	if x.view.Outgoing(x.vrf.Index, x.q.Saddr, x.q.Daddr) {
		x.add("direction", "outgoing: the source is local, the destination is not")
		return fate{verdict: mib.Egress}
	}
	sock, where, state := x.flow()
	early := x.early(&sw, sock, where)
	q := x.q
	switch t := x.view.RouteInput(&q); t {
	case demux.RouteLocal:
		x.add("route", "%s: %s", x.q.Daddr, t)
	case demux.RouteForward:
		x.add("route", "%s: %s", x.q.Daddr, t)
		return fate{verdict: mib.Forward}
	case demux.RouteBroadcast, demux.RouteMulticast:
		return x.multicast(t)
	default:
		x.add("route", "%s: %s", x.q.Daddr, t)
		return fate{verdict: mib.Drop, reason: noRoute(t)}
	}
	switch {
	case early != 0:
		return fate{path: demux.PathEarly, sock: early}
	case sock != 0:
		x.add("lookup", "the flow is in the table of VRF %s: %s", where, state)
		return fate{path: demux.PathEstablished, sock: sock}
	}
	return x.lookup()
}

func noRoute(t demux.RouteType) mib.Reason {
	switch t {
	case demux.RouteMartianSource:
		return mib.IPInvalidSource
	case demux.RouteMartianDest:
		return mib.IPInvalidDest
	}
	return mib.IPInNoRoutes
}

// early says what early demux finds; 0 when it does not look or misses.
func (x *explainer) early(sw *demux.Sysctl, sock demux.SockID, where string) demux.SockID {
	on := sw.IPEarlyDemux && (x.q.Proto == demux.TCP && sw.TCPEarlyDemux || x.q.Proto == demux.UDP && sw.UDPEarlyDemux)
	switch {
	case !on:
		x.add("early demux", "not tried: the switch is off in this VRF")
		return 0
	case x.q.Proto == demux.UDP && !x.view.MatchExact:
		q := x.q
		sock = x.view.UDPEarly(&q)
	case where != x.vrf.Name:
		sock = 0
	}
	if sock == 0 {
		x.add("early demux", "%s: missed", protoName(x.q.Proto))
		return 0
	}
	x.add("early demux", "%s: found", protoName(x.q.Proto))
	return sock
}

// flow looks the flow up in the table of the packet's VRF, then in default's
// where the sysctl lets its sockets take packets of VRFs.
func (x *explainer) flow() (sock demux.SockID, where, state string) {
	vrfs := []*demux.VRF{x.vrf}
	if x.view.TCPL3mdevAccept && x.vrf.Index != 0 {
		vrfs = append(vrfs, &x.view.VRFs[0])
	}
	k := flowtable.KeyOf(x.q.Saddr, x.q.Daddr, x.q.Sport, x.q.Dport)
	d := flowtable.Dev{Dif: x.q.Dif, Sdif: x.q.Sdif, Accept: x.view.TCPL3mdevAccept}
	for _, v := range vrfs {
		t := v.UDP
		if x.q.Proto == demux.TCP {
			t = v.TCP
		}
		r := t.Table().Reader() // growth keeps the memory while we look
		h := x.q.Hasher.Sum(v.Seed, k.Laddr, k.Faddr, k.Fport).Hash(k.Lport)
		ref, id := t.LookupSock(h, &k, d, x.o.Clock())
		if ref != 0 {
			f, _ := t.Get(ref)
			sock, where, state = id, v.Name, stateName(x.q.Proto, f.State)
		}
		r.Close()
		if sock != 0 {
			return sock, where, state
		}
	}
	return 0, "", ""
}

func (x *explainer) multicast(t demux.RouteType) fate {
	x.add("route", "%s: %s", x.q.Daddr, t)
	q := x.q
	if x.q.Proto == demux.TCP {
		return fate{verdict: mib.Drop, reason: mib.NoSocket}
	}
	all := x.view.McastSocks(&q, nil)
	x.add("multicast", "%d sockets get a copy", len(all))
	if len(all) == 0 {
		return fate{verdict: mib.Drop, reason: mib.NoSocket}
	}
	return fate{path: demux.PathMcast, sock: all[len(all)-1]}
}

// lookup is the full lookup without a flow.
func (x *explainer) lookup() fate {
	x.add("lookup", "no flow of this four-tuple")
	q := x.q
	q.NoFlow = true
	var r demux.Result
	if q.Proto == demux.TCP {
		r = x.view.TCPListener(&q)
	} else {
		r = x.view.UDPLookup(&q)
	}
	x.candidates()
	if r.Group != 0 {
		g := int(r.Group - 1)
		how := "the hash of the flow"
		switch {
		case x.view.Group(g) != nil && x.view.Group(g).Prog != nil:
			how = "the hash of the flow; its program would see the packet's bytes"
		case r.By == demux.ByCPU:
			how = "SO_INCOMING_CPU"
		}
		x.add("group", "%s: %d members, chosen by %s", x.view.GroupName(g), x.view.GroupSize(g), how)
	}
	if r.Sock == 0 {
		return fate{verdict: mib.Drop, reason: mib.NoSocket}
	}
	return fate{path: r.Path, sock: r.Sock}
}

// shownCandidates bounds the list of sockets on the port.
const shownCandidates = 5

func (x *explainer) candidates() {
	if x.quiet {
		return
	}
	q := x.q
	all := x.view.Candidates(&q)
	if len(all) == 0 {
		x.add("sockets", "none on %s port %d", protoName(q.Proto), q.Dport)
	}
	for i, c := range all {
		if i == shownCandidates {
			x.add("sockets", "and %d more on this port", len(all)-i)
			return
		}
		s := x.view.Sock(c.Sock)
		text := fmt.Sprintf("score %d", c.Score)
		if c.Score < 0 {
			text = "no, " + c.Why
		}
		x.add("sockets", "%s %s: %s", x.view.Name(c.Sock), endpoint(s.Laddr, s.Lport), text)
	}
}

func (x *explainer) result(f fate) {
	o := x.out
	o.Verdict, o.Path = f.verdict.String(), f.path.String()
	if f.path == 0 {
		o.Path = ""
	}
	switch {
	case f.sock != 0:
		names := x.o.Host.Engine.Names()
		o.Socket, o.Worker = names.Sock(f.sock), names.Worker(names.WorkerOf(f.sock))
		x.add("result", "deliver to %s, worker %s, path %s", o.Socket, o.Worker, o.Path)
	case f.verdict == mib.Drop:
		o.Reason = f.reason.String()
		x.add("result", "drop %s: %s", f.reason, f.reason.Hint())
	default:
		x.add("result", "%s", f.verdict)
	}
}

// switches says what turning each switch over would change, and finishes the
// text.
func (x *explainer) switches(f fate) {
	x.quiet = true
	for _, sw := range []struct {
		name string
		on   func(*demux.Sysctl) *bool
	}{
		{"ip_early_demux", func(s *demux.Sysctl) *bool { return &s.IPEarlyDemux }},
		{"tcp_early_demux", func(s *demux.Sysctl) *bool { return &s.TCPEarlyDemux }},
		{"udp_early_demux", func(s *demux.Sysctl) *bool { return &s.UDPEarlyDemux }},
	} {
		s := x.vrf.Sysctl
		p := sw.on(&s)
		*p = !*p
		other := x.decide(s)
		text := "no change"
		switch {
		case other.sock != f.sock || other.verdict != f.verdict:
			text = fmt.Sprintf("%s to %s", other.verdict, orNone(x.view.Name(other.sock)))
		case other.path != f.path:
			text = fmt.Sprintf("path %s, same socket", other.path)
		}
		x.out.Steps = append(x.out.Steps, ExplainStep{fmt.Sprintf("with %s:%s=%d", x.vrf.Name, sw.name, int(bit(*p))), text})
	}
	var b strings.Builder
	for _, s := range x.out.Steps {
		line := fmt.Sprintf("%-13s%s", s.Step, s.Text)
		if strings.HasPrefix(s.Step, "with ") {
			line = "  " + s.Step + ": " + s.Text
		}
		if len(line) > 80 {
			line = line[:77] + "..."
		}
		b.WriteString(line + "\n")
	}
	x.out.Text = b.String()
}

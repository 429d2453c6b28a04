// Package explain says, step by step, why a packet went where it went.
//
// Job: the narrative of `edemux explain`, from what a replay knew before and
// after one frame. Order: packet, device, direction, checks, early demux,
// route, lookup, group, result, what each switch would change. Threads: one.
// Kernel counterpart: the functions that each line names are those of the walk.
package explain

import (
	"fmt"
	"io"
	"strings"

	"edemux/cli/replay"
	"edemux/dataplane"
	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/demux"
)

// Bounds of the output: a terminal of 80x24.
const (
	maxColumns = 80
	maxLines   = 24
	labelWidth = 13
)

// page collects lines within the bounds.
type page struct{ lines []string }

// add prints `label  text`, cut to the width.
func (p *page) add(label, format string, args ...any) {
	s := fmt.Sprintf("%-*s%s", labelWidth, label, fmt.Sprintf(format, args...))
	if len(s) > maxColumns {
		s = s[:maxColumns-3] + "..."
	}
	p.lines = append(p.lines, strings.TrimRight(s, " "))
}

// WhatIf is the decision with one switch turned over.
type WhatIf struct {
	Switch string // udp_early_demux=0
	At     *replay.At
}

// Write prints the explanation of at, then what the switches would change.
func Write(w io.Writer, at *replay.At, ifs []WhatIf) error {
	e := &explainer{At: at, view: at.Host.Engine.View()}
	e.packet()
	if e.entry() {
		e.early()
		e.route()
		e.lookup()
	}
	e.result()
	room := maxLines - len(ifs)
	if len(e.lines) > room {
		e.lines = append(e.lines[:room-2], append([]string{"             ..."}, e.lines[len(e.lines)-1:]...)...)
	}
	for _, i := range ifs {
		e.whatIf(i)
	}
	_, err := io.WriteString(w, strings.Join(e.lines, "\n")+"\n")
	return err
}

type explainer struct {
	page
	*replay.At
	view *demux.View
	q    demux.Query
	vrf  *demux.VRF
}

func (e *explainer) packet() {
	m := &e.Meta
	if e.Number > 0 {
		e.add("frame", "%d on %s at +%.6f s, %d bytes", e.Number, e.Host.Ports.Name(e.Frame.Port), float64(e.Since)/1e9, e.Frame.WireLen)
	}
	if !m.Has(packet.HasTuple) {
		e.add("packet", "no usable IP header")
		return
	}
	e.add("packet", "%s %s > %s%s", protoName(m.Proto), endpoint(m, true), endpoint(m, false), tcpFlags(m))
	if m.Has(packet.Fragment) {
		e.add("fragment", "id %d, offset %d, more %v: held until the datagram is whole", m.FragID, m.FragOff, m.MoreFrags)
	}
}

// entry explains the steps before IP. False: the packet got no further.
func (e *explainer) entry() bool {
	m, d := &e.Meta, &e.Decision
	ifc := e.view.Ingress(e.Frame.Port, m.VLANs, m.NVLAN)
	switch {
	case m.Punt != mib.NotPunted && d.Verdict == mib.Punt:
		e.add("link", "%s: no IP packet for a socket", m.Punt)
		return false
	case d.Verdict == mib.Egress:
		e.add("direction", "outgoing: this host sent it (%s)", e.Host.Assumed)
		return false
	case ifc == nil:
		e.add("device", "no interface for this tag stack on port %s", e.Host.Ports.Name(e.Frame.Port))
		return false
	}
	e.vrf = &e.view.VRFs[ifc.VRF]
	e.add("device", "%s, VRF %s: dif %s, sdif %s", ifc.Name, e.vrf.Name, e.device(ifc.Dif), e.device(ifc.Sdif))
	e.add("direction", "incoming: the destination is local (%s)", e.Host.Assumed)
	if d.Reason == mib.OtherHost {
		e.add("link", "unicast to the MAC of another host")
		return false
	}
	if m.Reason != mib.NotDropped {
		e.add("ip header", "%s: %s", m.Reason, m.Reason.Hint())
		return false
	}
	e.add("ip header", "good (version, lengths%s)", ifElse(e.Host.ParseOptions().VerifyIP && m.IPVer == 4, ", checksum", ""))
	e.q = demux.Query{
		Saddr: m.Saddr, Daddr: m.Daddr, Sport: m.Sport, Dport: m.Dport, Proto: m.Proto, V6: m.IPVer == 6,
		Dif: ifc.Dif, Sdif: ifc.Sdif, VRF: ifc.VRF, CPU: int32(e.Frame.CPU), Hasher: e.Host.Builder.Hasher,
	}
	return true
}

func (e *explainer) device(ifindex uint32) string {
	if ifindex == 0 {
		return "none"
	}
	if i := e.view.Iface(ifindex); i != nil {
		return i.Name
	}
	for i := range e.view.VRFs {
		if e.view.VRFs[i].Ifindex == ifindex {
			return e.view.VRFs[i].Name
		}
	}
	return fmt.Sprint(ifindex)
}

// delta is what the frame added to the accounts of its VRF.
func (e *explainer) delta() (before, after dataplane.VRFCounters) {
	i := int(e.vrf.Index) + 1
	if i < len(e.Before.VRFs) {
		before = e.Before.VRFs[i]
	}
	return before, e.After.VRFs[i]
}

func (e *explainer) early() {
	before, after := e.delta()
	for i, name := range dataplane.NotTriedNames {
		if after.NotTried[i] > before.NotTried[i] {
			e.add("early demux", "not tried: %s", notTriedWhy[name])
			return
		}
	}
	for p, name := range []string{"tcp", "udp"} {
		b, a := before.Early[p], after.Early[p]
		switch {
		case a.Tried == b.Tried:
		case a.Hit == b.Hit:
			e.add("early demux", "%s: %s", name, missWhy(name, e.view.MatchExact))
		case a.Skipped > b.Skipped:
			e.add("early demux", "%s: found, with a valid route", name)
		default:
			e.add("early demux", "%s: found, without a valid route", name)
		}
	}
}

var notTriedWhy = map[string]string{
	"disabled": "the switch is off in this VRF",
	"fragment": "a fragment carries no whole flow",
	"exthdr":   "an IPv6 extension header stands before the transport header",
	"pkttype":  "not unicast to this host on the link layer",
	"proto":    "only TCP and UDP are looked up early",
}

func missWhy(proto string, exact bool) string {
	if proto == "udp" && !exact {
		return "missed: no connected socket at the head of the chain"
	}
	return "missed: no such flow"
}

func (e *explainer) route() {
	before, after := e.delta()
	for p := range after.Early {
		if after.Early[p].Skipped > before.Early[p].Skipped {
			e.add("route", "not looked up: the flow's is still valid")
			return
		}
	}
	t := e.view.RouteInput(&e.q)
	why := ""
	if t == demux.RouteLocal && e.vrf.EveryLocal() {
		why = " (every address is local)"
	}
	e.add("route", "%s: %s%s", e.q.Daddr, t, why)
}

func (e *explainer) result() {
	d := &e.Decision
	switch d.Verdict {
	case mib.Deliver:
		e.add("result", "deliver to %s, worker %s, path %s", e.Names.Sock(d.Sock), e.Names.Worker(d.Worker), d.Path)
	case mib.Drop:
		e.add("result", "drop %s: %s", d.Reason, d.Reason.Hint())
	case mib.Punt:
		e.add("result", "punt %s", d.Punt)
	default:
		e.add("result", "%s", d.Verdict)
	}
	if n := len(e.Copies); n > 0 {
		e.lines[len(e.lines)-1] += fmt.Sprintf(", and %d copies", n)
	}
}

func (e *explainer) whatIf(w WhatIf) {
	a, b := &e.Decision, &w.At.Decision
	label := "  with " + w.Switch + ": "
	text := "no change"
	same := a.Verdict == b.Verdict && a.Reason == b.Reason && a.Worker == b.Worker && e.Names.Sock(a.Sock) == w.At.Names.Sock(b.Sock)
	switch {
	case !same:
		text = fmt.Sprintf("%s to %s, path %s", b.Verdict, orDash(w.At.Names.Sock(b.Sock)), b.Path)
		if b.Verdict == mib.Drop {
			text = "drop " + b.Reason.String()
		}
	case a.Path != b.Path:
		text = fmt.Sprintf("path %s, same socket", b.Path)
	}
	e.lines = append(e.lines, label+text)
}

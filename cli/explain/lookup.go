package explain

import (
	"fmt"
	"sort"
	"strings"

	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/demux"
)

// lookup explains the full lookup, unless early demux settled it.
func (e *explainer) lookup() {
	m, d := &e.Meta, &e.Decision
	switch {
	case d.Path == demux.PathEarly, m.Has(packet.Fragment) && d.Verdict == mib.Hold:
		return
	case m.Proto != demux.TCP && m.Proto != demux.UDP:
		if d.Path == demux.PathICMP {
			e.add("icmp error", "quotes a datagram of %s", e.Names.Sock(d.Sock))
		}
		return
	case m.L4Reason != mib.NotDropped:
		e.add("transport", "%s: %s", m.L4Reason, m.L4Reason.Hint())
		return
	case d.Path == demux.PathMcast:
		e.add("multicast", "every socket that matches gets a copy")
		return
	case d.Path == demux.PathEstablished:
		e.add("lookup", "the flow is in the table: %s", e.Names.Sock(d.Sock))
		return
	}
	e.add("lookup", "no flow of this four-tuple")
	if e.rule() {
		e.group()
		return
	}
	e.candidates()
	e.group()
}

// rule names the first rule that matches; true when it settled the lookup.
func (e *explainer) rule() bool {
	rules := e.Host.Builder.Rules()
	for i := range rules {
		if r := &rules[i]; r.Matches(&e.q) {
			e.add("rules", "rule %d of %d matches: socket %s", i+1, len(rules), e.Host.Builder.Name(r.Socket))
			return e.Decision.Path == demux.PathRule
		}
	}
	if len(rules) > 0 {
		e.add("rules", "none of %d matches", len(rules))
	}
	return false
}

// shownCandidates bounds the list of sockets on the port.
const shownCandidates = 5

// candidates lists the sockets on the port with their scores, the exact
// address before the wildcard, as the two passes scan them.
func (e *explainer) candidates() {
	all := e.view.Candidates(&e.q)
	if len(all) == 0 {
		e.add("sockets", "none on %s port %d", protoName(e.q.Proto), e.q.Dport)
		return
	}
	sort.SliceStable(all, func(i, j int) bool {
		a, b := all[i], all[j]
		if (a.Score < 0) != (b.Score < 0) {
			return a.Score >= 0
		}
		return a.Exact && !b.Exact
	})
	for i, c := range all {
		if i == shownCandidates {
			e.add("", "... and %d more sockets on this port", len(all)-i)
			break
		}
		s := e.view.Sock(c.Sock)
		text := fmt.Sprintf("%s %s:%d", e.Names.Sock(c.Sock), addrText(s), s.Lport)
		if c.Score < 0 {
			text += ": no, " + c.Why
		} else {
			text += fmt.Sprintf(": score %d", c.Score)
		}
		e.add(ifElse(i == 0, "sockets", ""), "%s", text)
	}
}

// group explains the choice among members.
func (e *explainer) group() {
	for i := range e.After.Groups {
		a := &e.After.Groups[i]
		for by := demux.ByNone + 1; by < demux.NBy; by++ {
			var had uint64
			if i < len(e.Before.Groups) {
				had = e.Before.Groups[i].By[by]
			}
			if a.By[by] > had {
				e.add("group", "%s: %d members, chosen by %s", e.view.GroupName(i), e.view.GroupSize(i), byText[by])
				return
			}
		}
	}
}

var byText = [demux.NBy]string{
	demux.ByProgram:  "its program",
	demux.ByHash:     "the hash of the flow",
	demux.ByCPU:      "SO_INCOMING_CPU",
	demux.ByFallback: "the hash, as the program named no member",
}

func addrText(s *demux.Sock) string {
	a := s.Laddr.String()
	if strings.Contains(a, ":") {
		return "[" + a + "]"
	}
	return a
}

func protoName(p uint8) string {
	switch p {
	case demux.TCP:
		return "tcp"
	case demux.UDP:
		return "udp"
	case packet.ProtoICMP:
		return "icmp"
	case packet.ProtoICMPv6:
		return "icmpv6"
	}
	return fmt.Sprintf("protocol %d", p)
}

func endpoint(m *packet.Meta, src bool) string {
	a, port := m.Daddr, m.Dport
	if src {
		a, port = m.Saddr, m.Sport
	}
	if !m.Has(packet.HasPorts) {
		return a.String()
	}
	if m.IPVer == 6 {
		return fmt.Sprintf("[%s]:%d", a, port)
	}
	return fmt.Sprintf("%s:%d", a, port)
}

// tcpFlags prints flags as tcpdump does.
func tcpFlags(m *packet.Meta) string {
	if !m.Has(packet.HasTCP) {
		return ""
	}
	s := ""
	for _, f := range []struct {
		bit uint8
		c   string
	}{{packet.SYN, "S"}, {packet.FIN, "F"}, {packet.RST, "R"}, {packet.PSH, "P"}, {packet.ACK, "."}, {packet.URG, "U"}} {
		if m.TCPFlags&f.bit != 0 {
			s += f.c
		}
	}
	return " [" + s + "] seq " + fmt.Sprint(m.Seq)
}

func ifElse(c bool, a, b string) string {
	if c {
		return a
	}
	return b
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

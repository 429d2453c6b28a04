package judge

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/demux"
)

// comparer holds what must stay the same from frame to frame.
type comparer struct {
	stable map[string]string       // choice of the kernel's hash, by group and flow
	flows  map[flowKey]*flowChoice // TCP flows whose listener a hash chose
	Unsure int                     // frames of flows that the two sides gave to different members, one of which is gone
}

// flowChoice is what a hash chose for a TCP flow on both sides.
type flowChoice struct {
	ours   string
	any    []string
	theirs string // "" until the kernel showed it
	lost   bool   // one side's member closed while the other's lives
}

func newComparer() *comparer {
	return &comparer{stable: map[string]string{}, flows: map[flowKey]*flowChoice{}}
}

// changed forgets choices that a change of the sockets may change.
func (c *comparer) changed() { clear(c.stable) }

// closed notes that a socket is gone.
func (c *comparer) closed(name string) {
	c.changed()
	for _, f := range c.flows {
		if f.theirs != f.ours && (f.ours == name || f.theirs == name || f.theirs == "" && slices.Contains(f.any, name)) {
			f.lost = true
		}
	}
}

// frame compares what both sides did with a frame. "" means that they agree.
func (c *comparer) frame(m *packet.Meta, o *Outcome, v *Verdict) string {
	if m.Has(packet.HasPorts|packet.HasTuple) && m.Proto == demux.TCP {
		if f := c.flows[keyOfMeta(m)]; f != nil && f.lost {
			c.Unsure++
			return ""
		}
	}
	if memberDecides(m, v) {
		c.Unsure++
		return ""
	}
	if why := c.sockets(m, o, v); why != "" {
		return why
	}
	if why := counters(o, v); why != "" {
		return why
	}
	return reason(o, v)
}

// memberDecides reports whether the outcome hangs on which member a hash chose:
// of IPv6 datagrams without checksum, which members may take or refuse.
func memberDecides(m *packet.Meta, v *Verdict) bool {
	return m.IPVer == 6 && m.Has(packet.UDPZeroCsum) && len(v.Any) > 1
}

// leftovers is what the end of an earlier namespace with the same number does.
var leftovers = []string{"FRAG_REASM_TIMEOUT"}

// reason compares the drop reason with those that the kernel's tracepoint gave.
// Where the kernel names none, or the reason is one of edemux's own, there is
// nothing to compare.
func reason(o *Outcome, v *Verdict) string {
	if v.Verdict != mib.Drop || len(o.Reasons) == 0 || v.Reason != mib.FragReasmTimeout && slices.Equal(o.Reasons, leftovers) || slices.Contains(o.Reasons, "NOT_SPECIFIED") ||
		slices.Contains(o.Reasons, v.Reason.String()) {
		return ""
	}
	switch v.Reason {
	case mib.NoVRF, mib.TableFull, mib.ReqQFull:
		return ""
	case mib.UDPCsum: // udpv6_rcv: the reason found before the checksum stays
		if slices.Contains(o.Reasons, "NO_SOCKET") {
			return ""
		}
	case mib.IPInNoRoutes: // ip6_protocol_deliver_rcu: the group's members want other sources
		if slices.Contains(o.Reasons, "IP_INADDRERRORS") {
			return ""
		}
	}
	return "the kernel's drop reason is " + strings.Join(o.Reasons, ", ")
}

func (c *comparer) sockets(m *packet.Meta, o *Outcome, v *Verdict) string {
	forwarded := o.Reply&Forwarded != 0
	if forwarded != (v.Verdict == mib.Forward) {
		return fmt.Sprintf("the kernel sends %s", o.Reply)
	}
	switch {
	case v.Path == demux.PathICMP || len(o.names(Error)) > 0:
		return c.icmp(m, o, v)
	case m.Proto == demux.TCP && m.Has(packet.HasTuple):
		return c.tcp(m, o, v)
	}
	socks := v.Socks
	if v.Verdict != mib.Deliver {
		socks = nil
	}
	return c.choice(o.names(Data), &Verdict{Socks: socks, By: v.By, Group: v.Group, Any: v.Any, Wild: v.Wild, CPU: v.CPU}, flowText(m, v.Wild))
}

// icmp compares who is told of an ICMP error.
func (c *comparer) icmp(m *packet.Meta, o *Outcome, v *Verdict) string {
	f := c.flows[v.About]
	if f != nil && f.lost {
		c.Unsure++
		return ""
	}
	if f != nil && f.theirs == "" && len(o.names(Error)) == 0 {
		return "" // a request that no application knows of yet
	} else if f != nil && f.theirs != "" {
		v = &Verdict{Socks: []string{f.theirs}}
	}
	return c.choice(o.names(Error), v, fmt.Sprintf("icmp %s", v.About))
}

// flowText names a flow; a group on the wildcard address does not see which
// local address was asked.
func flowText(m *packet.Meta, wild bool) string {
	local := addrPort(m.Daddr, m.Dport).String()
	if wild {
		local = fmt.Sprintf("*:%d", m.Dport)
	}
	return fmt.Sprintf("%s>%s", addrPort(m.Saddr, m.Sport), local)
}

// choice compares the receivers. One that a hash chose may be any other member,
// always the same for a flow.
func (c *comparer) choice(theirs []string, v *Verdict, flow string) string {
	ours := slices.Clone(v.Socks)
	sort.Strings(ours)
	sort.Strings(theirs)
	if len(v.Any) == 0 || len(ours) != 1 {
		if !slices.Equal(ours, theirs) {
			return fmt.Sprintf("the kernel gives it to %s", list(theirs))
		}
		return ""
	}
	if len(theirs) != 1 || !slices.Contains(v.Any, theirs[0]) {
		return fmt.Sprintf("the kernel gives it to %s, not to one of %s", list(theirs), list(v.Any))
	}
	key := fmt.Sprintf("%d %s %s", v.Group, v.By, flow)
	if v.By == demux.ByCPU {
		key += fmt.Sprintf(" on CPU %d", v.CPU)
	}
	if was, ok := c.stable[key]; ok && was != theirs[0] {
		return fmt.Sprintf("the kernel gives flow %s first to %s, then to %s", flow, was, theirs[0])
	}
	c.stable[key] = theirs[0]
	return ""
}

func list(names []string) string {
	if len(names) == 0 {
		return "no socket"
	}
	return strings.Join(names, ", ")
}

// tcp compares a segment: by what the host answers, and by the connection that
// counted it.
func (c *comparer) tcp(m *packet.Meta, o *Outcome, v *Verdict) string {
	key := keyOfMeta(m)
	found := v.Verdict == mib.Deliver
	switch {
	case found && (v.Path == demux.PathListener || v.Path == demux.PathRule):
		if o.Reply&SynAck == 0 {
			return fmt.Sprintf("the kernel answers a SYN with %s", o.Reply)
		}
		c.flows[key] = &flowChoice{ours: v.Socks[0], any: v.Any}
		if len(v.Any) == 0 {
			c.flows[key].any = v.Socks
		}
		return ""
	case found:
		return c.established(key, o, v)
	}
	ways := []How{Accept, Segment, Data}
	if v.Reason == mib.TCPCsum { // longer segments are verified by the connection, which has counted them
		ways = []How{Accept, Data}
	}
	if got := o.names(ways...); len(got) > 0 {
		return fmt.Sprintf("the kernel gives it to %s", list(got))
	}
	if o.Reply&SynAck != 0 {
		return "the kernel answers with SYN-ACK"
	}
	if v.Reason == mib.NoSocket && (m.TCPFlags&packet.RST == 0) != (o.Reply&Reset != 0) {
		return fmt.Sprintf("the kernel answers with %s", o.Reply)
	}
	return ""
}

// established compares a segment for which the engine has an entry.
func (c *comparer) established(key flowKey, o *Outcome, v *Verdict) string {
	f := c.flows[key]
	if f == nil {
		f = &flowChoice{ours: v.Socks[0], theirs: v.Socks[0]}
		c.flows[key] = f
	}
	if v.Socks[0] != f.ours {
		f.ours, f.any, f.theirs = v.Socks[0], v.Peers, "" // migrated
	}
	for _, name := range o.names(Accept) {
		if !slices.Contains(f.any, name) {
			return fmt.Sprintf("the kernel's connection is accepted by %s, not by one of %s", name, list(f.any))
		}
		f.theirs = name
	}
	for _, name := range o.names(Segment, Data) {
		if name != f.theirs {
			return fmt.Sprintf("the kernel gives it to a connection of %s, not of %s", name, list([]string{f.theirs}))
		}
	}
	if o.Reply&Reset != 0 {
		return "the kernel answers with RST"
	}
	return ""
}

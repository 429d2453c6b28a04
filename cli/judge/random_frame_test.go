package judge

import (
	"encoding/binary"
	"net/netip"
	"runtime"

	"edemux/dataplane/packet/packettest"
)

// cpus is how many CPUs frames come in on.
var cpus = min(runtime.NumCPU(), 2)

// frame sends a random frame, or a few that belong together.
func (g *gen) frame() {
	switch {
	case g.tcp && g.chance(45):
		g.tcpFrame()
	case g.chance(12):
		g.fragments()
	case g.chance(15):
		g.manycast()
	case g.chance(12):
		g.icmpError()
	case g.chance(4):
		g.otherProto()
	default:
		g.udpFrame()
	}
}

// way is a port and a CPU.
func (g *gen) way() (port, cpu int) { return g.r.IntN(len(g.n.Ports)), g.r.IntN(cpus) }

// ends are a remote and a local endpoint of one family.
func (g *gen) ends(ports []uint16) (remote, local netip.AddrPort) {
	from, to := remote4, local4
	if g.chance(45) {
		from, to = remote6, local6
	}
	dst := pick(g, to)
	if g.chance(3) {
		dst = pick(g, addrs("10.7.7.7", "198.51.100.7", "2001:db8:7::7"))
		if from = remote6; dst.Is4() {
			from = remote4
		}
	}
	port := pick(g, ports)
	if g.chance(4) {
		port = 5999
	}
	return netip.AddrPortFrom(pick(g, from), pick(g, farPorts)), netip.AddrPortFrom(dst, port)
}

// payload is a few random words, seldom too short for a program.
func (g *gen) payload() []byte {
	n := 4 + g.r.IntN(12)
	if g.chance(10) {
		n = g.r.IntN(4)
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(g.r.Uint32())
	}
	return b
}

func (g *gen) udpFrame() {
	src, dst := g.ends(udpPorts)
	port, cpu := g.way()
	if g.chance(15) {
		g.oddUDP(port, cpu, src, dst)
		return
	}
	b := ip(&g.n, port, src.Addr(), dst.Addr()).UDP(src.Port(), dst.Port()).Payload(g.payload())
	g.add(send(port, cpu, b, "udp %s > %s", src, dst))
}

// oddUDP sends a datagram with something wrong or unusual about it.
func (g *gen) oddUDP(port, cpu int, src, dst netip.AddrPort) {
	type maker struct {
		what string
		f    func(base *packettest.Builder) *packettest.Builder
	}
	body := g.payload()
	n := uint16(8 + len(body))
	plain := func(b *packettest.Builder) *packettest.Builder { return b.UDP(src.Port(), dst.Port()) }
	makers := []maker{
		{"bad UDP checksum", func(b *packettest.Builder) *packettest.Builder { return plain(b).BadSum() }},
		{"no UDP checksum", func(b *packettest.Builder) *packettest.Builder { return plain(b).NoSum() }},
		{"UDP length too long", func(b *packettest.Builder) *packettest.Builder { return plain(b).Set16(4, n+9) }},
		{"UDP length below 8", func(b *packettest.Builder) *packettest.Builder { return plain(b).Set16(4, uint16(g.r.IntN(8))) }},
		{"UDP length short", func(b *packettest.Builder) *packettest.Builder { return plain(b).Set16(4, n-min(n-8, 3)) }},
		{"ECN", func(b *packettest.Builder) *packettest.Builder { return plain(b.TOS(uint8(g.r.IntN(4)))) }},
		{"trailer", func(b *packettest.Builder) *packettest.Builder { return plain(b).Pad(100) }},
	}
	if src.Addr().Is4() {
		makers = append(makers,
			maker{"bad IP checksum", func(b *packettest.Builder) *packettest.Builder { return plain(b.BadSum()) }},
			maker{"IP options", func(b *packettest.Builder) *packettest.Builder { return plain(b.IPOptions(1, 1, 1, 0)) }},
			maker{"version 5", func(b *packettest.Builder) *packettest.Builder { return plain(b.Set(0, 0x55)) }},
			maker{"header of 16 bytes", func(b *packettest.Builder) *packettest.Builder { return plain(b.Set(0, 0x44)) }},
			maker{"IP length too long", func(b *packettest.Builder) *packettest.Builder { return plain(b.Set16(2, 999)) }},
			maker{"IP length below header", func(b *packettest.Builder) *packettest.Builder { return plain(b.Set16(2, 19)) }},
		)
	} else {
		makers = append(makers,
			maker{"hop-by-hop", func(b *packettest.Builder) *packettest.Builder { return plain(b.HopByHop()) }},
			maker{"destination options", func(b *packettest.Builder) *packettest.Builder { return plain(b.DstOpts()) }},
			maker{"atomic fragment", func(b *packettest.Builder) *packettest.Builder { return plain(b.FragHdr(7)) }},
			maker{"IPv6 length too long", func(b *packettest.Builder) *packettest.Builder { return plain(b.Set16(4, 999)) }},
			maker{"version 5", func(b *packettest.Builder) *packettest.Builder { return plain(b.Set(0, 0x50)) }},
		)
	}
	m := pick(g, makers)
	if g.local(dst.Addr()) { // else a local source makes it a frame that leaves
		src = netip.AddrPortFrom(g.oddSource(src.Addr()), src.Port())
	}
	b := ip(&g.n, port, src.Addr(), dst.Addr())
	if m.what != "trailer" {
		b = m.f(b).Payload(body)
	} else {
		b = plain(b).Payload(body).Pad(100)
	}
	data := b.Bytes()
	what := m.what
	switch {
	case g.chance(8):
		copy(data, []byte{2, 0xbb, 0, 0, 0, 1})
		what += ", to another host's MAC"
	case g.chance(8):
		copy(data, packettest.Broadcast[:])
		what += ", in a broadcast frame"
	}
	s := send(port, cpu, b, "udp %s > %s: %s", src, dst, what)
	s.Frame.Data = data
	g.add(s)
}

// oddSource seldom replaces a source by one that cannot be.
func (g *gen) oddSource(a netip.Addr) netip.Addr {
	if !g.chance(15) {
		return a
	}
	if a.Is4() {
		return pick(g, addrs("127.0.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "10.0.0.1", "0.1.2.3"))
	}
	return pick(g, addrs("::1", "::", "ff02::1", "2001:db8::1"))
}

// manycast sends to a group or a broadcast address.
func (g *gen) manycast() {
	src, dst := g.ends(udpPorts)
	port, cpu := g.way()
	to := pick(g, append(addrs("10.0.0.255", "255.255.255.255", "224.0.0.1"), groups4...))
	if src.Addr().Is6() {
		to = pick(g, append(addrs("ff02::1", "ff05::9"), groups6...))
	}
	b := ip(&g.n, port, src.Addr(), to).UDP(src.Port(), dst.Port())
	what := ""
	switch {
	case g.chance(8):
		b, what = b.NoSum(), ", no checksum"
	case g.chance(5):
		b, what = b.BadSum(), ", bad checksum"
	}
	g.add(send(port, cpu, b.Payload(g.payload()), "udp %s > %s:%d%s", src, to, dst.Port(), what))
}

// fragments sends a datagram in pieces in any order, sometimes twice, sometimes
// not all of them.
func (g *gen) fragments() {
	src, dst := g.ends(udpPorts)
	if !g.local(dst.Addr()) {
		return
	}
	port, cpu := g.way()
	g.ipid++
	body := make([]byte, 20+g.r.IntN(60))
	binary.BigEndian.PutUint32(body, g.r.Uint32())
	b := ip(&g.n, port, src.Addr(), dst.Addr())
	if g.chance(10) && src.Addr().Is6() {
		b = b.DstOpts()
	}
	parts := b.UDP(src.Port(), dst.Port()).Payload(body).Fragments(24, g.ipid)
	order := g.r.Perm(len(parts))
	if g.chance(20) {
		order = append(order, g.r.IntN(len(parts)))
		g.r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	if g.chance(20) {
		order = order[1:]
	}
	for _, i := range order {
		s := send(port, cpu, b, "udp %s > %s: fragment %d of %d", src, dst, i+1, len(parts))
		s.Frame.Data = parts[i].Data
		g.add(s)
	}
}

func (g *gen) local(a netip.Addr) bool {
	for _, p := range g.n.VRFs[0].Local {
		if p.Addr() == a {
			return true
		}
	}
	return false
}

// otherProto sends a protocol that has no sockets here.
func (g *gen) otherProto() {
	src, dst := g.ends(udpPorts)
	port, cpu := g.way()
	b := ip(&g.n, port, src.Addr(), dst.Addr()).Proto(uint8(200 + g.r.IntN(40))).Payload(g.payload())
	g.add(send(port, cpu, b, "protocol of its own %s > %s", src, dst))
}

// icmpError quotes a datagram that one of the host's sockets could have sent.
func (g *gen) icmpError() {
	ports := udpPorts
	var flow *gflow
	if len(g.flows) > 0 && g.chance(50) {
		if flow = pick(g, g.flows); !flow.acked || flow.fin {
			return // requests and TIME_WAIT: nothing to be seen
		}
	}
	remote, local := g.ends(ports)
	if flow != nil {
		remote, local = flow.remote, flow.local
	}
	port, cpu := g.way()
	from, quoted := remote4[2], packettest.New()
	typ, code := uint8(3), uint8(g.r.IntN(4))
	if g.chance(20) {
		typ, code = 11, 0
	}
	if remote.Addr().Is6() {
		from = remote6[2]
		typ, code = 1, uint8(g.r.IntN(5))
		quoted = quoted.IPv6(local.Addr(), remote.Addr())
	} else {
		quoted = quoted.IPv4(local.Addr(), remote.Addr())
	}
	if flow != nil {
		quoted = quoted.TCP(local.Port(), remote.Port(), 16).Seq(serverISN+1, flow.seq)
	} else {
		quoted = quoted.UDP(local.Port(), remote.Port()).Payload(g.payload())
	}
	b := ip(&g.n, port, from, local.Addr()).ICMP(typ, code, 0)
	if g.chance(6) {
		b = b.BadSum()
	}
	inner := quoted.Bytes()
	if g.chance(8) {
		inner = inner[:len(inner)-g.r.IntN(len(inner))]
	}
	g.add(send(port, cpu, b.Payload(inner), "icmp %d/%d about %s > %s", typ, code, local, remote))
}

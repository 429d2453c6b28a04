package judge

import (
	"fmt"
	"net/netip"
	"testing"

	"edemux/dataplane/packet/packettest"
	"edemux/demux"
)

// trialOf builds steps with less to write.
type trialOf struct {
	Scenario
}

func fixed(name string) *trialOf {
	return &trialOf{Scenario{Name: name, Net: twoPorts()}}
}

func (t *trialOf) open(all ...*Socket) *trialOf {
	for _, s := range all {
		t.Steps = append(t.Steps, open(s))
	}
	return t
}

func (t *trialOf) do(all ...Step) *trialOf {
	t.Steps = append(t.Steps, all...)
	return t
}

// udp sends a datagram on port 0 and CPU 0.
func (t *trialOf) udp(src, dst string, words ...uint32) *trialOf {
	return t.udpOn(0, 0, src, dst, words...)
}

func (t *trialOf) udpOn(port, cpu int, src, dst string, words ...uint32) *trialOf {
	return t.do(send(port, cpu, datagram(&t.Net, port, ap(src), ap(dst), words...), "udp %s > %s %v", src, dst, words))
}

// raw sends any frame on port 0.
func (t *trialOf) raw(what string, b *packettest.Builder) *trialOf {
	return t.do(send(0, 0, b, "%s", what))
}

func (t *trialOf) run(tt *testing.T) {
	tt.Run(t.Name, func(tt *testing.T) { agree(tt, &t.Scenario) })
}

// members are n sockets of a group, named after it.
func members(n int, proto uint8, name, bind string, option ...func(*Socket)) (all []*Socket) {
	for i := range n {
		s := sock(fmt.Sprintf("%s%d", name, i), proto, bind).with(reuseport)
		for _, o := range option {
			o(s)
		}
		all = append(all, s)
	}
	return all
}

func connected(to string) func(*Socket) { return func(s *Socket) { s.Connect = ap(to) } }
func onDev(dev string) func(*Socket)    { return func(s *Socket) { s.Dev = dev } }
func onCPU(cpu int32) func(*Socket)     { return func(s *Socket) { s.IncomingCPU = cpu } }

const modText = "ld [0]; mod #%d; ret a"

// TestFixedReuseportBPF is reuseport_bpf: a program before bind governs groups
// on both sides of the ten sockets up to which Linux scans the port's slot.
func TestFixedReuseportBPF(t *testing.T) {
	needRoot(t)
	for _, n := range []int{10, 20} {
		for _, c := range []struct{ name, bind, src, dst string }{
			{"v4", "0.0.0.0:8000", "10.0.0.9:1000", "10.0.0.1:8000"},
			{"v6", "[::]:8000", "[2001:db8::9]:1000", "[2001:db8::1]:8000"},
			{"mapped", "[::]:8000", "10.0.0.9:1000", "10.0.0.1:8000"},
		} {
			all := members(n, demux.UDP, "m", c.bind)
			all[0].ProgBeforeBind = fmt.Sprintf(modText, n)
			s := fixed(fmt.Sprintf("%s/%d", c.name, n)).open(all...)
			for d := range uint32(2 * n) {
				s.udp(c.src, c.dst, d)
			}
			s.do(Step{Attach: &Attach{"m0", fmt.Sprintf(modText, n/2)}})
			for d := range uint32(n) {
				s.udp(c.src, c.dst, d)
			}
			s.do(Step{Detach: "m1"}, Step{Detach: "m0"}).udp(c.src, c.dst, 1).udp(c.src, c.dst, 2)
			s.run(t)
		}
	}
	a, b := udp("a", "0.0.0.0:8000").with(reuseport), udp("b", "0.0.0.0:8000").with(reuseport)
	a.ProgBeforeBind, b.ProgBeforeBind = "ret #0", "ret #0"
	fixed("two programs").open(a, b).run(t)
	plain := udp("a", "0.0.0.0:8000")
	plain.ProgBeforeBind = "ret #0"
	fixed("program without the option").open(plain).run(t)
	fixed("program on a socket without group").open(udp("a", "0.0.0.0:8000")).
		do(Step{Attach: &Attach{"a", "ret #0"}}, Step{Detach: "a"}).run(t)
}

// TestFixedGroup is about the order of members and what programs may return.
func TestFixedGroup(t *testing.T) {
	needRoot(t)
	const src, dst = "10.0.0.9:1000", "10.0.0.1:53"
	all := func() *trialOf {
		return fixed("").open(members(4, demux.UDP, "m", "0.0.0.0:53")...).do(Step{Attach: &Attach{"m0", "ld [0]; ret a"}})
	}
	each := func(s *trialOf, n uint32) *trialOf {
		for d := range n {
			s.udp(src, dst, d)
		}
		return s
	}
	s := each(all(), 6) // 4 and 5 are beyond the group: the hash
	s.Name = "indices"
	s.run(t)
	s = each(all().do(Step{Close: "m1"}), 4) // the last member moves into the hole
	s.Name = "renumbered"
	each(s.open(udp("m1", "0.0.0.0:53").with(reuseport)), 5).run(t)
	s = all().udp(src, dst).raw("short payload", ip(&s.Net, 0, ap(src).Addr(), ap(dst).Addr()).UDP(1000, 53).Payload([]byte{1, 2}))
	s.Name = "short payload is member 0"
	s.run(t)
	s = all().do(Step{Close: "m0"}).do(Step{Close: "m2"})
	s.Name = "the program outlives who attached it"
	each(s, 3).run(t)
	other := udp("u", "0.0.0.0:53").with(reuseport)
	other.UID = 1000
	fixed("another user").open(udp("a", "0.0.0.0:53").with(reuseport), other).run(t)
	fixed("v6only is identity").open(udp("a", "[::]:53").with(reuseport), udp("b", "[::]:53").with(reuseport).with(v6only),
		udp("c", "0.0.0.0:53").with(reuseport)).udp(src, dst, 0).udp("[2001:db8::9]:1000", "[2001:db8::1]:53", 0).run(t)
}

// TestFixedCPU is so_incoming_cpu for UDP, and reuseport_bpf_cpu.
func TestFixedCPU(t *testing.T) {
	needRoot(t)
	const dst = "10.0.0.1:53"
	s := fixed("so_incoming_cpu")
	for i := range cpus {
		s.open(members(1, demux.UDP, fmt.Sprintf("c%d-", i), "0.0.0.0:53", onCPU(int32(i)))...)
	}
	each := func() {
		for i := range cpus {
			for p := range 4 {
				s.udpOn(0, i, fmt.Sprintf("10.0.0.9:%d", 1000+p), dst, 7)
			}
		}
	}
	each()
	s.open(udp("none", "0.0.0.0:53").with(reuseport))
	each()
	s.do(Step{CPU: &SetCPU{"c0-0", -1}})
	each()
	s.do(Step{Close: "none"})
	each()
	s.run(t)
	s = fixed("program by CPU").open(members(cpus, demux.UDP, "m", "[::]:53")...).do(Step{Attach: &Attach{"m0", "ld #cpu; ret a"}})
	each()
	s.run(t)
	fixed("score of the CPU").open(udp("a", "10.0.0.1:53").with(reuseaddr), udp("b", "10.0.0.1:53").with(reuseaddr).with(onCPU(0)),
		udp("c", "10.0.0.1:53").with(reuseaddr)).udpOn(0, 0, "10.0.0.9:1", dst).udpOn(0, cpus-1, "10.0.0.9:1", dst).run(t)
}

// TestFixedDual is reuseport_dualstack and reuseport_addr_any.
func TestFixedDual(t *testing.T) {
	needRoot(t)
	for _, n := range []int{5, 16} {
		v4, v6 := members(n, demux.UDP, "four", "0.0.0.0:53"), members(n, demux.UDP, "six", "[::]:53")
		for i, order := range [][]*Socket{append(v4[:n:n], v6...), append(v6[:n:n], v4...)} {
			s := fixed(fmt.Sprintf("%d each, order %d", n, i)).open(order...)
			for p := range 8 {
				s.udp(fmt.Sprintf("10.0.0.9:%d", 1000+p), "10.0.0.1:53", 0)
				s.udp(fmt.Sprintf("[2001:db8::9]:%d", 1000+p), "[2001:db8::1]:53", 0)
			}
			s.run(t)
		}
	}
	for _, c := range []struct{ name, one, src, dst string }{
		{"v4", "10.0.0.1:53", "10.0.0.9:1000", "10.0.0.1:53"},
		{"v6", "[2001:db8::1]:53", "[2001:db8::9]:1000", "[2001:db8::1]:53"},
		{"mapped", "[::ffff:10.0.0.1]:53", "10.0.0.9:1000", "10.0.0.1:53"},
	} {
		s := fixed("addr_any " + c.name).open(members(2, demux.UDP, "a", "0.0.0.0:53")...).open(members(2, demux.UDP, "b", "[::]:53")...)
		s.open(udp("one", c.one).with(reuseport)).open(members(2, demux.UDP, "c", "0.0.0.0:53")...).open(members(2, demux.UDP, "d", "[::]:53")...)
		s.udp(c.src, c.dst, 0).udp(c.src, c.dst, 1).run(t)
	}
	for i := range 2 {
		a, b := udp("four", "0.0.0.0:53").with(reuseaddr), udp("six", "[::]:53").with(reuseaddr).with(onDev("eth0"))
		if i == 1 {
			a, b = b, a
		}
		fixed(fmt.Sprintf("unbound four, bound six %d", i)).open(a, b).udp("10.0.0.9:1", "10.0.0.1:53").udpOn(1, 0, "10.0.0.9:1", "10.0.0.1:53").run(t)
	}
}

// TestFixedConnected is section 5.2 and 15 of the reference: groups that lose
// members to connect, and the four-tuple table.
func TestFixedConnected(t *testing.T) {
	needRoot(t)
	const a, b, dst = "10.0.0.9:1000", "10.0.0.9:1001", "10.0.0.1:53"
	for _, bind := range []string{"0.0.0.0:53", dst} {
		s := fixed("member connects "+bind).open(members(3, demux.UDP, "m", bind)...).
			do(Step{Connect: &Connect{Socket: "m1", To: ap(a)}}).udp(a, dst, 0).udp(b, dst, 0)
		s.do(Step{Attach: &Attach{"m0", "ld [0]; ret a"}})
		for d := range uint32(4) {
			s.udp(b, dst, d)
		}
		s.open(udp("late", bind).with(reuseport))
		for d := range uint32(4) {
			s.udp(b, dst, d)
		}
		s.do(Step{Close: "m0"}).udp(a, dst, 1).udp(b, dst, 0).udp(b, dst, 1).run(t)
	}
	s := fixed("a connected socket is adopted").open(udp("c", dst).with(reuseport).with(connected(a)), udp("late", dst).with(reuseport))
	s.do(Step{Attach: &Attach{"late", "ld [0]; ret a"}}).udp(b, dst, 0).udp(b, dst, 1).udp(a, dst, 1).run(t)
	fixed("wildcard that connected has the address of the route").open(udp("c", "0.0.0.0:53").with(reuseport).with(connected(a)),
		udp("late", dst).with(reuseport)).do(Step{Attach: &Attach{"late", "ld [0]; ret a"}}).udp(b, dst, 0).udp(b, dst, 1).run(t)
	fixed("same four-tuple twice").open(udp("x", dst).with(reuseaddr).with(connected(a)), udp("y", dst).with(reuseaddr).with(connected(a)),
		udp("z", dst).with(reuseaddr)).udp(a, dst).udp(b, dst).do(Step{Close: "y"}).udp(a, dst).do(Step{Close: "x"}).udp(a, dst).run(t)
	fixed("connected and bound to a device").open(udp("x", dst).with(reuseaddr).with(connected(a)),
		udp("y", dst).with(reuseaddr).with(connected(a)).with(onDev("eth1")), udp("z", dst).with(reuseaddr)).
		udpOn(0, 0, a, dst).udpOn(1, 0, a, dst).udpOn(1, 0, b, dst).run(t)
	fixed("has_conns and a device").open(members(2, demux.UDP, "m", dst)...).do(Step{Connect: &Connect{Socket: "m0", To: ap(a)}}).
		open(udp("d", dst).with(reuseport).with(onDev("eth0")), udp("e", dst).with(reuseport)).
		udp(b, dst, 0).udpOn(1, 0, b, dst, 0).udp(a, dst, 0).run(t)
	fixed("connects twice").open(udp("x", dst).with(connected(a))).do(Step{Connect: &Connect{Socket: "x", To: ap(b)}}).udp(a, dst).udp(b, dst).
		do(Step{Sysctl: &SetSysctl{0, "udp_early_demux", 0}}).udp(a, dst).udp(b, dst).run(t)
	fixed("dual-stack, connected to IPv4").open(udp("x", "[::]:53").with(connected("[::ffff:10.0.0.9]:1000")), udp("y", "0.0.0.0:53").with(reuseaddr)).
		udp(a, dst).udp(b, dst).run(t)
}

// TestFixedChain is the order of the scan: ties, devices, exact before wildcard.
func TestFixedChain(t *testing.T) {
	needRoot(t)
	const src, dst, src6, dst6 = "10.0.0.9:1000", "10.0.0.1:53", "[2001:db8::9]:1000", "[2001:db8::1]:53"
	all := []*Socket{udp("exact", dst), udp("wild", "0.0.0.0:53"), udp("six", dst6), udp("any6", "[::]:53").with(v6only)}
	for i := range all {
		order := append(append([]*Socket{}, all[i:]...), all[:i]...)
		fixed(fmt.Sprintf("exact before wildcard %d", i)).open(order...).udp(src, dst).udp(src, "10.0.0.2:53").udp(src6, dst6).
			udp(src6, "[2001:db8::2]:53").do(Step{Close: "exact"}, Step{Close: "six"}).udp(src, dst).udp(src6, dst6).run(t)
	}
	dev := udp("dev", dst).with(reuseport).with(onDev("eth0"))
	group := members(2, demux.UDP, "m", dst)
	fixed("group behind the device").open(group...).open(dev).udp(src, dst).udpOn(1, 0, src, dst).run(t)
	fixed("group before the device").open(dev).open(group...).udp(src, dst).udpOn(1, 0, src, dst).run(t)
	dev6, group6 := udp("dev", dst6).with(reuseport).with(onDev("eth0")), members(2, demux.UDP, "m", dst6)
	fixed("IPv6 group at the tail").open(group6...).open(dev6, udp("plain", dst6).with(reuseaddr)).udp(src6, dst6).udpOn(1, 0, src6, dst6).run(t)
	fixed("one remote, two local addresses").open(members(4, demux.UDP, "m", "0.0.0.0:53")...).udp(src, dst).udp(src, "10.0.0.2:53").
		udp(src, "10.1.0.1:53").udp(src, dst).run(t)
	s := fixed("eleven sockets of one port").open(udp("wild", "0.0.0.0:53"))
	for i := range 11 {
		s.open(udp(fmt.Sprintf("d%d", i), dst).with(onDev("eth0")).with(reuseport))
	}
	s.open(udp("wild2", "0.0.0.0:53").with(reuseport), udp("other", "10.0.0.2:53")).udp(src, dst).udpOn(1, 0, src, dst).run(t)
}

// TestFixedHeaders is section 5.7: lengths and checksums.
func TestFixedHeaders(t *testing.T) {
	needRoot(t)
	for _, size := range []int{0, 3, 68, 69, 400} {
		for _, e := range [][3]string{{"10.0.0.9:1000", "10.0.0.1:53", "10.0.0.1:54"}, {"[2001:db8::9]:1000", "[2001:db8::1]:53", "[2001:db8::1]:54"}} {
			s := fixed(fmt.Sprintf("%d bytes to %s", size, e[1])).open(udp("a", e[1]), udp("b", e[2]).with(func(s *Socket) { s.NoCheck6Rx = s.Family == 6 }))
			src := ap(e[0])
			for _, to := range append(e[1:], netip.AddrPortFrom(ap(e[1]).Addr(), 55).String()) {
				dst := ap(to)
				base := func() *packettest.Builder { return ip(&s.Net, 0, src.Addr(), dst.Addr()).UDP(src.Port(), dst.Port()) }
				n := uint16(8 + size)
				for what, b := range map[string]*packettest.Builder{"plain": base(), "bad sum": base().BadSum(), "no sum": base().NoSum(),
					"length 7": base().Set16(4, 7), "length 0": base().Set16(4, 0), "length 8": base().Set16(4, 8), "too long": base().Set16(4, n+1)} {
					s.raw(what+" to "+to, b.PayloadLen(size))
				}
			}
			s.run(t)
		}
	}
}

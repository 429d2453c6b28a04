package judge

import (
	"net/netip"
	"testing"

	"edemux/dataplane/packet/packettest"
	"edemux/demux"
)

func joined(group, dev string, sources ...string) func(*Socket) {
	return func(s *Socket) { s.Joins = append(s.Joins, Join{netip.MustParseAddr(group), dev, addrs(sources...)}) }
}

func notAll(s *Socket) { s.McastNotAll = true }

// TestFixedMcast is section 5.6: every socket that matches gets a copy.
func TestFixedMcast(t *testing.T) {
	needRoot(t)
	const a, b, g, h = "10.0.0.9:1000", "10.1.0.9:1000", "239.1.1.1:53", "239.1.1.2:53"
	fixed("copies").open(members(3, demux.UDP, "m", "0.0.0.0:53", joined("239.1.1.1", "eth0"))...).
		open(udp("other", "0.0.0.0:53").with(reuseport), udp("bound", g).with(reuseport), udp("addr", "10.0.0.1:53").with(reuseport)).
		udp(a, g).udp(b, g).udpOn(1, 0, a, g).udp(a, h).run(t)
	fixed("membership of the device").open(udp("x", "0.0.0.0:53").with(joined("239.1.1.1", "eth0")).with(reuseaddr),
		udp("y", "0.0.0.0:53").with(joined("239.1.1.1", "eth1")).with(reuseaddr).with(notAll)).udp(a, g).udpOn(1, 0, a, g).run(t)
	fixed("sources").open(udp("x", "0.0.0.0:53").with(joined("239.1.1.1", "eth0", "10.0.0.9")).with(reuseaddr),
		udp("y", "0.0.0.0:53").with(joined("239.1.1.1", "eth0", "10.0.0.9", "10.1.0.9")).with(reuseaddr),
		udp("z", "0.0.0.0:53").with(notAll).with(reuseaddr)).udp(a, g).udp(b, g).udp("192.0.2.7:1000", g).run(t)
	fixed("only sources of others").open(udp("x", "0.0.0.0:53").with(joined("239.1.1.1", "eth0", "10.0.0.9"))).udp(b, g).udp(a, g).run(t)
	fixed("one receiver, early").open(udp("x", "0.0.0.0:53").with(joined("239.1.1.1", "eth0"))).udp(a, g).udp(a, g).run(t)
	fixed("one receiver that stands for a group").open(udp("x", "0.0.0.0:53").with(joined("239.1.1.1", "eth0")).with(reuseport),
		udp("y", "0.0.0.0:53").with(reuseport).with(notAll)).udp(a, g).do(Step{Attach: &Attach{"x", "ret #1"}}).udp(a, g).
		do(Step{Sysctl: &SetSysctl{0, "udp_early_demux", 0}}).udp(a, g).run(t)
	fixed("connected").open(udp("x", "0.0.0.0:53").with(joined("239.1.1.1", "eth0")).with(reuseaddr),
		udp("y", g).with(reuseaddr).with(connected(a)), udp("z", "10.0.0.1:53").with(reuseaddr).with(connected(a))).udp(a, g).udp(b, g).run(t)
	fixed("dual-stack").open(udp("x", "0.0.0.0:53").with(joined("239.1.1.1", "eth0")).with(reuseaddr), udp("six", "[::]:53").with(reuseaddr),
		udp("member", "[::]:53").with(reuseaddr).with(joined("239.1.1.1", "eth0")), udp("only", "[::]:53").with(reuseaddr).with(v6only)).
		udp(a, g).udp(a, "224.0.0.1:53").udp(a, "10.0.0.255:53").run(t)
	s := fixed("eleven receivers").open(members(11, demux.UDP, "m", "0.0.0.0:53", joined("239.1.1.1", "eth0"))...)
	s.open(udp("bound", g).with(reuseport), udp("addr", "10.0.0.1:53").with(reuseport)).udp(a, g).udp(a, "10.0.0.255:53").run(t)
	fixed("joined twice").open(udp("x", "0.0.0.0:53").with(joined("239.1.1.1", "eth0")).with(joined("239.1.1.1", "eth0"))).run(t)
	fixed("no group").open(udp("x", "0.0.0.0:53").with(joined("10.0.0.1", "eth0"))).run(t)
	fixed("no receiver").udp(a, g).open(udp("x", "0.0.0.0:54").with(joined("239.1.1.1", "eth0"))).udp(a, g).run(t)
}

// TestFixedMcast6 is the IPv6 side, with checksums of zero.
func TestFixedMcast6(t *testing.T) {
	needRoot(t)
	const a, g = "[2001:db8::9]:1000", "[ff05::1:1]:53"
	check := func(s *Socket) { s.NoCheck6Rx = true }
	s := fixed("copies").open(members(2, demux.UDP, "m", "[::]:53", joined("ff05::1:1", "eth0"))...).
		open(udp("no", "[::]:53").with(reuseport).with(check), udp("bound", g).with(reuseport), udp("four", "0.0.0.0:53").with(reuseport))
	s.udp(a, g).udpOn(1, 0, a, g).udp(a, "[ff05::1:2]:53").udp(a, "[ff02::1]:53")
	s.raw("no checksum", ip(&s.Net, 0, ap(a).Addr(), ap(g).Addr()).UDP(1000, 53).NoSum().PayloadLen(9)).run(t)
	fixed("sources").open(udp("x", "[::]:53").with(joined("ff05::1:1", "eth0", "2001:db8::9")),
		udp("y", "[::]:53").with(reuseaddr).with(notAll)).udp(a, g).udp("[2001:db8:1::9]:1000", g).run(t)
	fixed("joined elsewhere").open(udp("x", "[::]:53").with(joined("ff05::1:1", "eth1")), udp("y", "[::]:54").with(joined("ff05::1:1", "eth0"))).
		udp(a, g).udpOn(1, 0, a, g).run(t)
}

// TestFixedBroadcast: every socket that matches; a connected one from its peer.
func TestFixedBroadcast(t *testing.T) {
	needRoot(t)
	const a, b = "10.0.0.9:1000", "10.1.0.9:1000"
	s := fixed("all kinds").open(udp("x", "0.0.0.0:53").with(reuseaddr), udp("y", "[::]:53").with(reuseaddr), udp("z", "10.0.0.255:53").with(reuseaddr),
		udp("w", "10.0.0.1:53").with(reuseaddr), udp("c", "0.0.0.0:53").with(reuseaddr).with(connected(a)), udp("d", "0.0.0.0:53").with(reuseaddr).with(onDev("eth1")))
	for _, dst := range []string{"10.0.0.255:53", "255.255.255.255:53"} {
		s.udp(a, dst).udp(b, dst).udpOn(1, 0, a, dst)
	}
	s.udp("0.0.0.0:68", "255.255.255.255:53").run(t)
	s = fixed("unicast in a broadcast frame").open(udp("x", "10.0.0.1:53"), tcp("l", "10.0.0.1:80"))
	frame := packettest.New().Eth(packettest.MAC2, packettest.Broadcast).IPv4(ap(a).Addr(), ap("10.0.0.1:53").Addr())
	s.raw("udp", frame.Clone().UDP(1000, 53)).raw("tcp", frame.Clone().TCP(1000, 80, 2)).run(t)
}

// TestFixedFragments sends every order of three fragments.
func TestFixedFragments(t *testing.T) {
	needRoot(t)
	for _, e := range [][2]string{{"10.0.0.9:1000", "10.0.0.1:53"}, {"[2001:db8::9]:1000", "[2001:db8::1]:53"}} {
		s := fixed("orders " + e[0]).open(members(3, demux.UDP, "m", e[1])...).do(Step{Attach: &Attach{"m0", "ld [0]; ret a"}})
		src, dst := ap(e[0]), ap(e[1])
		for i, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}, {0, 0, 1, 2}, {0, 2, 2, 1}} {
			parts := datagram(&s.Net, 0, src, dst, uint32(i%3), 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12).Fragments(24, uint32(100+i))
			for _, p := range order {
				st := send(0, i%cpus, packettest.New(), "fragment %d of order %v", p, order)
				st.Frame.Data, st.Frame.Link = parts[p].Data, parts[p].Link
				s.do(st)
			}
		}
		s.run(t)
	}
	s := fixed("overlaps and leftovers").open(udp("a", "10.0.0.1:53"))
	parts := datagram(&s.Net, 0, ap("10.0.0.9:1000"), ap("10.0.0.1:53"), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10).Fragments(16, 7)
	other := datagram(&s.Net, 0, ap("10.0.0.9:1000"), ap("10.0.0.1:53"), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10).Fragments(24, 7)
	for i, p := range []packettestFrame{{parts[0].Data}, {other[1].Data}, {parts[2].Data}, {parts[1].Data}, {other[0].Data}} {
		st := send(0, 0, packettest.New(), "piece %d", i)
		st.Frame.Data, st.Frame.Link = p.data, parts[0].Link
		s.do(st)
	}
	s.run(t)
}

type packettestFrame struct{ data []byte }

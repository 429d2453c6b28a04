package demux

import (
	"fmt"
	"net/netip"
	"testing"

	"edemux/flowtable"

	"github.com/stretchr/testify/require"
)

// vrfBuilder has eth0 in default, red with eth1 and eth2, blue with eth3.
func vrfBuilder(t testing.TB) *Builder {
	b := newTestBuilder()
	for _, n := range []string{"red", "blue"} {
		_, err := b.AddVRF(n)
		require.NoError(t, err)
	}
	for i, vrf := range []uint16{0, 1, 1, 2} {
		_, err := b.AddIface(IfaceSpec{Name: fmt.Sprintf("eth%d", i), Port: uint16(i), VRF: vrf})
		require.NoError(t, err)
	}
	return b
}

// on makes q a packet that came in on dev.
func on(v *View, q *Query, dev string) *Query {
	i := v.IfaceByName(dev)
	q.Dif, q.Sdif, q.VRF = i.Dif, i.Sdif, i.VRF
	return q
}

// TestAcceptance is the table of section 9.2: which socket accepts a packet of
// which interface.
func TestAcceptance(t *testing.T) {
	for _, c := range []struct {
		dev    string // of the socket
		in     string // interface of the packet
		accept bool
		want   bool
	}{
		{"", "eth1", false, false}, {"", "eth1", true, true},
		{"red", "eth1", false, true}, {"red", "eth1", true, true},
		{"eth1", "eth1", false, true}, {"eth1", "eth1", true, true},
		{"eth2", "eth1", false, false}, {"eth2", "eth1", true, false},
		{"blue", "eth1", false, false}, {"blue", "eth1", true, false},
		{"eth0", "eth1", false, false}, {"eth0", "eth1", true, false},
		{"", "eth0", false, true}, {"", "eth0", true, true},
		{"eth0", "eth0", false, true}, {"eth0", "eth0", true, true},
		{"red", "eth0", false, false}, {"eth1", "eth0", true, false},
	} {
		for _, opts := range []string{"tcp 0.0.0.0:80", "udp 0.0.0.0:80", "tcp [::]:80", "udp [::]:80", "udp 10.0.0.1:80 connect=10.0.0.9:9"} {
			b := vrfBuilder(t)
			b.SetL3mdevAccept(c.accept, c.accept)
			if c.dev != "" {
				opts += " dev=" + c.dev
			}
			id := mustAdd(t, b, "s "+opts)
			v := b.Publish()
			q := on(v, udpq(b, "10.0.0.9:9", "10.0.0.1:80"), c.in)
			r := v.UDPLookup(q)
			if v.Sock(id).Proto() == TCP {
				q.Proto = TCP
				r = v.TCPListener(q)
			}
			require.Equal(t, c.want, r.Sock == id, "%s: socket on %q, packet on %s, accept %v", opts, c.dev, c.in, c.accept)
		}
	}
}

// TestHash4AsksTheTCPSysctl: the four-tuple match of a connected UDP socket
// uses tcp_l3mdev_accept; the scan behind it udp_l3mdev_accept.
func TestHash4AsksTheTCPSysctl(t *testing.T) {
	for _, c := range []struct{ tcp, udp, early, full bool }{
		{false, false, false, false}, {true, false, true, true}, {false, true, false, true}, {true, true, true, true},
	} {
		b := vrfBuilder(t)
		b.SetL3mdevAccept(c.tcp, c.udp)
		id := mustAdd(t, b, "s udp 10.0.0.1:80 connect=10.0.0.9:9")
		v := b.Publish()
		q := on(v, udpq(b, "10.0.0.9:9", "10.0.0.1:80"), "eth1")
		require.Equal(t, c.early, v.UDPEarly(q) == id, "%+v", c)
		require.Equal(t, c.full, v.UDPLookup(q).Sock == id, "%+v", c)
		q.NoFlow = true
		require.Equal(t, c.udp, v.UDPLookup(q).Sock == id, "%+v", c)
	}
}

// TestBoundBeatsUnbound, unless a group that is not bound comes first in the
// chain: its choice ends the scan (section 4.4).
func TestBoundBeatsUnbound(t *testing.T) {
	for _, c := range []struct{ first, second, want string }{
		{"u tcp 0.0.0.0:80", "d tcp 0.0.0.0:80 dev=red", "d"},
		{"d tcp 0.0.0.0:80 dev=red", "u tcp 0.0.0.0:80", "d"},
		{"d tcp 0.0.0.0:80 dev=eth1 reuseport", "g tcp 0.0.0.0:80 reuseport", "g"},
		{"g tcp 0.0.0.0:80 reuseport", "d tcp 0.0.0.0:80 dev=eth1 reuseport", "d"},
		{"v tcp 0.0.0.0:80 dev=red", "s tcp 0.0.0.0:80 dev=eth1", "s"}, // a tie: the head
		{"s tcp 0.0.0.0:80 dev=eth1", "v tcp 0.0.0.0:80 dev=red", "v"},
		{"a tcp [::]:80 reuseport", "b tcp [::]:80 dev=red reuseport", "a"}, // IPv6 groups at the tail
	} {
		b := vrfBuilder(t)
		for _, s := range []string{c.first, c.second} {
			mustAdd(t, b, s)
		}
		b.SetL3mdevAccept(true, true) // afterwards: it joins the bind buckets too
		v := b.Publish()
		q := on(v, tcpq(b, "10.0.0.9:9", "10.0.0.1:80"), "eth1")
		require.Equal(t, c.want, v.Name(v.TCPListener(q).Sock), "%+v", c)
	}
}

func TestLongChainsAreSplitByDevice(t *testing.T) {
	b := newTestBuilder()
	const n = 1000
	for i := range n {
		vrf, err := b.AddVRF(fmt.Sprintf("vrf%d", i))
		require.NoError(t, err)
		_, err = b.AddIface(IfaceSpec{Name: fmt.Sprintf("eth%d", i), Port: uint16(i), VRF: vrf})
		require.NoError(t, err)
		mustAdd(t, b, fmt.Sprintf("s%d tcp 0.0.0.0:80 dev=vrf%d", i, i))
	}
	mustAdd(t, b, "e7 tcp 0.0.0.0:80 dev=eth7")
	v := b.Publish()
	for i := range n {
		q := on(v, tcpq(b, "10.0.0.9:9", "10.0.0.1:80"), fmt.Sprintf("eth%d", i))
		want := fmt.Sprintf("s%d", i)
		if i == 7 {
			want = "e7"
		}
		require.Equal(t, want, v.Name(v.TCPListener(q).Sock))
	}
	require.Len(t, v.tcp.multi.at(0).devs, n+1)
}

func TestIngress(t *testing.T) {
	b := newTestBuilder()
	add := func(name string, port uint16, anyVLAN bool, vids ...uint16) error {
		_, err := b.AddIface(IfaceSpec{Name: name, Port: port, VIDs: vids, AnyVLAN: anyVLAN})
		return err
	}
	require.NoError(t, add("eth0", 0, false))
	require.NoError(t, add("eth0.10", 0, false, 10))
	require.NoError(t, add("eth0.100.20", 0, false, 100, 20))
	require.NoError(t, add("eth0.1.2.3.4", 0, false, 1, 2, 3, 4))
	require.NoError(t, add("eth1", 1, true))
	require.NoError(t, add("eth3.5", 3, false, 5))
	require.ErrorContains(t, add("eth0", 9, false), "the name is taken")
	require.ErrorContains(t, add("x", 0, false, 10), "vlan 10 of port 0 belongs to eth0.10")
	require.ErrorContains(t, add("x", 0, false, 0, 10), "belongs to eth0.10")
	require.ErrorContains(t, add("x", 0, false, 100, 20), "belong to eth0.100.20")
	require.ErrorContains(t, add("x", 0, false), "belong to eth0")
	require.ErrorContains(t, add("x", 0, false, 1, 2, 3, 4, 5), "at most four")
	require.ErrorContains(t, add("x", 0, false, 5000), "at most 4095")
	v := b.Publish()
	for _, c := range []struct {
		port uint16
		vids []uint16
		want string
	}{
		{0, nil, "eth0"}, {0, []uint16{0}, "eth0"}, {0, []uint16{10}, "eth0.10"}, {0, []uint16{0, 10}, "eth0.10"},
		{0, []uint16{10, 0}, "eth0.10"}, {0, []uint16{11}, ""}, {0, []uint16{100, 20}, "eth0.100.20"}, {0, []uint16{20, 100}, ""},
		{0, []uint16{100}, ""}, {0, []uint16{1, 2, 3, 4}, "eth0.1.2.3.4"}, {0, []uint16{1, 2, 3}, ""},
		{1, nil, "eth1"}, {1, []uint16{4000}, "eth1"}, {1, []uint16{1, 2, 3, 4}, "eth1"},
		{2, nil, ""}, {3, nil, ""}, {3, []uint16{5}, "eth3.5"}, {3, []uint16{6}, ""}, {99, nil, ""},
	} {
		packed, n := PackStack(c.vids)
		got := ""
		if i := v.Ingress(c.port, packed, n); i != nil {
			got = i.Name
		}
		require.Equal(t, c.want, got, "%+v", c)
	}
	require.Nil(t, v.Ingress(0, 1, 5), "more tags than a stack can have")
	require.Equal(t, "eth1", v.Ingress(1, 1, 5).Name)
	require.Zero(t, testing.AllocsPerRun(100, func() { v.Ingress(0, 0, 0); v.Ingress(0, 10, 1); v.Ingress(0, 20<<16|100, 2) }))
}

var routeCases = []struct {
	dev, s, d string
	want      RouteType
}{
	{"eth0", "10.0.0.9", "10.0.0.1", RouteLocal},
	{"eth0", "10.0.0.1", "10.0.0.1", RouteLocal}, // accept_local
	{"eth0", "10.0.0.9", "10.0.0.255", RouteBroadcast},
	{"eth0", "10.0.0.9", "255.255.255.255", RouteBroadcast},
	{"eth0", "0.0.0.0", "255.255.255.255", RouteBroadcast},
	{"eth0", "0.0.0.0", "0.0.0.0", RouteBroadcast},
	{"eth0", "10.0.0.9", "10.0.1.1", RouteForward},
	{"eth0", "10.0.0.9", "203.0.113.1", RouteNone},
	{"eth0", "224.0.0.1", "10.0.0.1", RouteMartianSource},
	{"eth0", "255.255.255.255", "10.0.0.1", RouteMartianSource},
	{"eth0", "0.1.2.3", "10.0.0.1", RouteLocal}, // ipv4_is_zeronet is 0.0.0.0 alone
	{"eth0", "0.0.0.0", "10.0.0.1", RouteMartianSource},
	{"eth0", "10.0.0.9", "0.1.2.3", RouteNone},
	{"eth0", "10.0.0.9", "0.0.0.0", RouteMartianDest},
	{"eth0", "127.0.0.1", "10.0.0.1", RouteLocalnet},
	{"eth0", "10.0.0.9", "127.0.0.1", RouteLocalnet},
	{"lo", "127.0.0.1", "127.0.0.1", RouteNone},
	{"lo", "127.0.0.1", "10.0.0.1", RouteLocal},
	{"eth1", "10.1.0.9", "127.0.0.1", RouteLocal}, // named as local in red
	{"eth1", "10.1.0.9", "10.0.0.1", RouteNone},
	{"eth3", "127.0.0.1", "1.2.3.4", RouteLocal}, // blue: every address
	{"eth0", "10.0.0.9", "224.1.1.1", RouteMulticast},
	{"eth0", "10.0.0.9", "224.1.1.2", RouteMulticast},
	{"eth0", "10.0.0.8", "224.1.1.2", RouteNoMember},
	{"eth0", "10.0.0.9", "224.1.1.3", RouteNoMember},
	{"eth1", "10.0.0.9", "224.1.1.3", RouteMulticast},
	{"eth2", "10.0.0.9", "224.1.1.3", RouteNoMember},
	{"eth3", "10.0.0.9", "224.9.9.9", RouteMulticast},
	{"eth0", "10.0.0.9", "224.0.0.1", RouteMulticast},
	{"eth0", "224.1.1.1", "224.1.1.1", RouteMartianSource},
	{"eth0", "127.0.0.1", "224.1.1.1", RouteLocalnet},
	{"eth0", "0.0.0.0", "224.1.1.1", RouteMartianSource},
	{"eth0", "0.0.0.0", "224.0.0.1", RouteMulticast},
	{"eth0", "2001:db8::9", "2001:db8::1", RouteLocal},
	{"eth0", "::", "2001:db8::1", RouteLocal},
	{"eth0", "2001:db8::9", "2001:db9::1", RouteForward},
	{"eth0", "2001:db8::9", "2001:dba::1", RouteNone},
	{"eth0", "ff02::1", "2001:db8::1", RouteMartianSource},
	{"eth0", "::1", "2001:db8::1", RouteMartianSource},
	{"eth0", "2001:db8::9", "::1", RouteMartianDest},
	{"lo", "::1", "2001:db8::1", RouteLocal},
	{"eth0", "2001:db8::9", "ff02::1", RouteMulticast},
	{"eth0", "2001:db8::9", "ff05::1", RouteMulticast},
	{"eth0", "2001:db8::9", "ff05::2", RouteNoMember},
	{"eth0", "2001:db8::9", "ff00::1", RouteMartianDest},
	{"eth0", "2001:db8::9", "ff01::1", RouteMartianDest},
	{"lo", "2001:db8::9", "ff01::1", RouteMulticast},
}

func TestRouteInput(t *testing.T) {
	b := vrfBuilder(t)
	pfx := netip.MustParsePrefix
	b.SetLocal(0, []netip.Prefix{pfx("10.0.0.0/24"), pfx("2001:db8::/64")})
	b.SetLocal(1, []netip.Prefix{pfx("10.1.0.1/32"), pfx("127.0.0.0/8")})
	b.SetBroadcast(0, []netip.Addr{netip.MustParseAddr("10.0.0.255")})
	require.NoError(t, b.SetRoutes(0, []Route{{pfx("192.0.2.0/24"), 3}, {pfx("10.0.0.0/8"), 3}, {pfx("2001:db9::/32"), 3}}))
	require.ErrorContains(t, b.SetRoutes(0, []Route{{pfx("192.0.2.0/24"), 77}}), "no interface with index 77")
	lo, err := b.AddIface(IfaceSpec{Name: "lo", Port: 9, Loopback: true})
	require.NoError(t, err)
	mustAdd(t, b, "m udp 0.0.0.0:5000")
	mustAdd(t, b, "m6 udp [::]:5001")
	eth0, eth1 := b.v.IfaceByName("eth0").Index, b.v.IfaceByName("eth1").Index
	require.NoError(t, b.Join(b.Lookup("m"), Join{Group: addr("224.1.1.1"), Ifindex: eth0}))
	require.NoError(t, b.Join(b.Lookup("m"), Join{Group: addr("224.1.1.2"), Ifindex: eth0, Include: []flowtable.Addr{addr("10.0.0.9")}}))
	require.NoError(t, b.Join(b.Lookup("m"), Join{Group: addr("224.1.1.3"), Ifindex: eth1}))
	require.NoError(t, b.Join(b.Lookup("m6"), Join{Group: addr("ff05::1"), Ifindex: eth0}))
	v := b.Publish()
	for _, c := range routeCases {
		q := on(v, &Query{Saddr: addr(c.s), Daddr: addr(c.d), V6: !addr(c.d).Is4()}, c.dev)
		require.Equal(t, c.want.String(), v.RouteInput(q).String(), "%+v", c)
	}
	require.NotZero(t, lo)
	q := on(v, udpq(b, "10.0.0.9:1", "10.0.0.1:1"), "eth0")
	require.Zero(t, testing.AllocsPerRun(100, func() { v.RouteInput(q) }))
	q6 := on(v, udpq(b, "[2001:db8::9]:1", "[2001:db8::1]:1"), "eth0")
	require.Zero(t, testing.AllocsPerRun(100, func() { v.RouteInput(q6) }))
	require.True(t, v.Outgoing(0, addr("10.0.0.1"), addr("192.0.2.1")))
	require.False(t, v.Outgoing(0, addr("10.0.0.1"), addr("10.0.0.2")))
	require.False(t, v.Outgoing(2, addr("10.0.0.1"), addr("192.0.2.1")))
	nh, ok := v.VRFs[0].Route(addr("10.9.0.1"))
	require.True(t, ok)
	require.Equal(t, uint32(3), nh.Ifindex)
}

func TestFibGen(t *testing.T) {
	b := vrfBuilder(t)
	gen := func() [3]uint32 {
		v := b.Publish()
		return [3]uint32{v.VRFs[0].FibGen, v.VRFs[1].FibGen, v.VRFs[2].FibGen}
	}
	g0 := gen()
	require.Equal(t, g0, gen())
	b.SetLocal(1, nil)
	require.NoError(t, b.SetRoutes(1, nil))
	b.SetBroadcast(2, nil)
	g1 := gen()
	require.Equal(t, [3]uint32{g0[0], g0[1] + 2, g0[2] + 1}, g1)
}

package dataplane

import (
	"net/netip"
	"testing"

	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/dataplane/packet/packettest"
	"edemux/demux"
	"edemux/flowtable"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func listener(name, bind string) demux.Spec {
	return demux.Spec{Name: name, Proto: demux.TCP, Bind: addr4(bind), Listen: true, Backlog: 128}
}

func udpSock(name, bind string) demux.Spec {
	return demux.Spec{Name: name, Proto: demux.UDP, Bind: addr4(bind)}
}

func both(t *testing.T, f func(t *testing.T, v6 bool)) {
	t.Run("v4", func(t *testing.T) { f(t, false) })
	t.Run("v6", func(t *testing.T) { f(t, true) })
}

func anyAddr(v6 bool, port string) string {
	if v6 {
		return "[::]:" + port
	}
	return "0.0.0.0:" + port
}

// want compares verdict, path, reason and socket in one line.
func want(t *testing.T, d Decision, v mib.Verdict, r mib.Reason, p demux.Path, sock uint32) {
	t.Helper()
	assert.Equal(t, [4]any{v, r.String(), p.String(), sock}, [4]any{d.Verdict, d.Reason.String(), d.Path.String(), d.Sock})
}

func TestTCPLife(t *testing.T) {
	both(t, func(t *testing.T, v6 bool) {
		v := newEnv(t, envOptions{})
		l := v.add(listener("web", anyAddr(v6, "443")))
		seg := func(flags uint8, seq uint32, data int) Decision {
			return v.send(ip(v6).TCP(40000, 443, flags).Seq(seq, 1).PayloadLen(data))
		}
		want(t, seg(packet.SYN, 100, 0), mib.Deliver, 0, demux.PathListener, l)
		want(t, seg(packet.ACK, 101, 0), mib.Deliver, 0, demux.PathEarly, l)
		want(t, seg(packet.ACK|packet.PSH, 101, 50), mib.Deliver, 0, demux.PathEarly, l)
		want(t, seg(packet.RST, 140, 0), mib.Deliver, 0, demux.PathEarly, l) // not exactly next: ignored
		v.pass(1000 * second)                                                // ESTABLISHED does not expire
		want(t, seg(packet.ACK|packet.FIN, 151, 0), mib.Deliver, 0, demux.PathEarly, l)
		v.pass(59 * second)
		want(t, seg(packet.ACK, 152, 0), mib.Deliver, 0, demux.PathEarly, l) // TIME_WAIT, lives on
		v.pass(61 * second)
		want(t, seg(packet.ACK, 152, 0), mib.Drop, mib.TCPFlags, demux.PathListener, 0)

		c := v.e.Counters()
		assert.EqualValues(t, 1, c.Flows.RSTIgnored)
		assert.EqualValues(t, 1, c.Flows.Created)
		tcp := c.VRFs[1].Early[EarlyTCP]
		assert.EqualValues(t, 7, tcp.Tried)
		assert.EqualValues(t, 5, tcp.Hit)
		assert.EqualValues(t, 3, tcp.Skipped) // request and TIME_WAIT are no full sockets
		v.conserved()
	})
}

func TestRSTExactlyNextRemoves(t *testing.T) {
	v := newEnv(t, envOptions{})
	l := v.add(listener("web", "0.0.0.0:443"))
	v.send(ip(false).TCP(1, 443, packet.SYN).Seq(1<<32-1, 0)) // the sequence wraps
	want(t, v.send(ip(false).TCP(1, 443, packet.RST).Seq(0, 0)), mib.Deliver, 0, demux.PathEarly, l)
	want(t, v.send(ip(false).TCP(1, 443, packet.ACK).Seq(0, 0)), mib.Drop, mib.TCPFlags, demux.PathListener, 0)
}

func TestSYNOnTimeWait(t *testing.T) {
	v := newEnv(t, envOptions{})
	l := v.add(listener("web", "0.0.0.0:443"))
	seg := func(flags uint8, seq uint32) Decision { return v.send(ip(false).TCP(1, 443, flags).Seq(seq, 0)) }
	seg(packet.SYN, 100)
	seg(packet.ACK, 101)
	seg(packet.FIN|packet.ACK, 101)
	want(t, seg(packet.SYN, 90), mib.Deliver, 0, demux.PathEarly, l) // old: TIME_WAIT answers
	want(t, seg(packet.SYN, 5000), mib.Deliver, 0, demux.PathListener, l)
	want(t, seg(packet.ACK, 5001), mib.Deliver, 0, demux.PathEarly, l)
}

func TestRequestExpires(t *testing.T) {
	v := newEnv(t, envOptions{})
	v.add(listener("web", "0.0.0.0:443"))
	v.send(ip(false).TCP(1, 443, packet.SYN).Seq(1, 0))
	v.pass(62 * second)
	assert.Equal(t, mib.Deliver, v.send(ip(false).TCP(1, 443, packet.SYN).Seq(1, 0)).Verdict)
	v.pass(2 * second)
	want(t, v.send(ip(false).TCP(1, 443, packet.ACK).Seq(2, 0)), mib.Drop, mib.TCPFlags, demux.PathListener, 0)
}

func TestBacklog(t *testing.T) {
	v := newEnv(t, envOptions{})
	s := listener("web", "0.0.0.0:443")
	s.Backlog = 2 // lets three in: full is more than the backlog
	v.add(s)
	syn := func(port uint16) Decision { return v.send(ip(false).TCP(port, 443, packet.SYN).Seq(1, 0)) }
	for p := uint16(1); p <= 3; p++ {
		require.Equal(t, mib.Deliver, syn(p).Verdict)
	}
	want(t, syn(4), mib.Drop, mib.ReqQFull, demux.PathListener, 0)
	v.send(ip(false).TCP(1, 443, packet.ACK).Seq(2, 0)) // one is promoted
	require.Equal(t, mib.Deliver, syn(4).Verdict)
	want(t, syn(5), mib.Drop, mib.ReqQFull, demux.PathListener, 0)
	v.pass(64 * second) // all lapse
	require.Equal(t, mib.Deliver, syn(5).Verdict)
	v.conserved()
}

func TestTimeWaitLimit(t *testing.T) {
	v := newEnv(t, envOptions{sysctl: func(s *demux.Sysctl) { s.TCPMaxTwBuckets = 1 }})
	v.add(listener("web", "0.0.0.0:443"))
	for p := uint16(1); p <= 2; p++ {
		v.send(ip(false).TCP(p, 443, packet.SYN).Seq(1, 0))
		v.send(ip(false).TCP(p, 443, packet.ACK).Seq(2, 0))
		v.send(ip(false).TCP(p, 443, packet.ACK|packet.FIN).Seq(2, 0))
	}
	c := v.e.Counters()
	assert.EqualValues(t, 1, c.Flows.TwFull)
	assert.EqualValues(t, 1, c.MIB[mib.TcpExtTCPTimeWaitOverflow])
}

func TestMidstream(t *testing.T) {
	v := newEnv(t, envOptions{midstream: true})
	l := v.add(listener("web", "0.0.0.0:443"))
	want(t, v.send(ip(false).TCP(1, 443, packet.RST).Seq(1, 0)), mib.Drop, mib.TCPFlags, demux.PathListener, 0)
	want(t, v.send(ip(false).TCP(1, 443, packet.FIN|packet.ACK).Seq(1, 0)), mib.Drop, mib.TCPFlags, demux.PathListener, 0)
	want(t, v.send(ip(false).TCP(1, 443, packet.ACK).Seq(1, 0).PayloadLen(9)), mib.Deliver, 0, demux.PathListener, l)
	want(t, v.send(ip(false).TCP(1, 443, packet.RST).Seq(10, 0)), mib.Deliver, 0, demux.PathEarly, l)
}

func TestUDPConnected(t *testing.T) {
	for _, exact := range []bool{false, true} {
		both(t, func(t *testing.T, v6 bool) {
			v := newEnv(t, envOptions{exact: exact})
			bind, remote := "10.0.0.1:7000", "10.0.0.9:9000"
			if v6 {
				bind, remote = "[2001:db8::1]:7000", "[2001:db8::9]:9000"
			}
			s := udpSock("conn", bind)
			s.Connect, s.Reuseaddr = addr4(remote), true
			conn := v.add(s)
			dgram := func(sport uint16) Decision { return v.send(ip(v6).UDP(sport, 7000).PayloadLen(20)) }
			want(t, dgram(9000), mib.Deliver, 0, demux.PathEarly, conn)
			want(t, dgram(9000), mib.Deliver, 0, demux.PathEarly, conn)
			want(t, dgram(9001), mib.Drop, mib.NoSocket, demux.PathNone, 0)
			e := v.e.Counters().VRFs[1].Early[EarlyUDP]
			assert.EqualValues(t, EarlyCounters{Tried: 3, Hit: 2, Skipped: 1}, e)

			o := udpSock("open", bind) // now at the head of the chain
			o.Reuseaddr = true
			open := v.add(o)
			path := demux.PathEstablished
			if exact {
				path = demux.PathEarly
			}
			want(t, dgram(9000), mib.Deliver, 0, path, conn)
			want(t, dgram(9001), mib.Deliver, 0, demux.PathListener, open)
			v.b.Close(conn)
			v.publish()
			want(t, dgram(9000), mib.Deliver, 0, demux.PathListener, open)
			v.conserved()
		})
	}
}

func TestSwitchesChangeThePathOnly(t *testing.T) {
	for _, off := range []func(*demux.Sysctl){
		func(s *demux.Sysctl) { s.IPEarlyDemux = false },
		func(s *demux.Sysctl) { s.TCPEarlyDemux, s.UDPEarlyDemux = false, false },
	} {
		v := newEnv(t, envOptions{sysctl: off})
		l := v.add(listener("web", "0.0.0.0:443"))
		s := udpSock("conn", "10.0.0.1:7000")
		s.Connect = addr4("10.0.0.9:9000")
		conn := v.add(s)
		v.send(ip(false).TCP(1, 443, packet.SYN).Seq(1, 0))
		want(t, v.send(ip(false).TCP(1, 443, packet.ACK).Seq(2, 0)), mib.Deliver, 0, demux.PathEstablished, l)
		want(t, v.send(ip(false).UDP(9000, 7000)), mib.Deliver, 0, demux.PathEstablished, conn)
		assert.EqualValues(t, 3, v.e.Counters().VRFs[1].NotTried[NotTriedDisabled])
	}
}

func TestVRFs(t *testing.T) {
	v := newEnv(t, envOptions{vrfs: []string{"red"}})
	s := udpSock("open", "0.0.0.0:53")
	s.Reuseaddr = true // else the binds conflict, as in Linux
	open := v.add(s)
	s = udpSock("red", "0.0.0.0:53")
	s.Dev, s.Reuseaddr = "red", true
	red := v.add(s)
	d := v.send(ip(false).UDP(9, 53))
	want(t, d, mib.Deliver, 0, demux.PathListener, open)
	assert.EqualValues(t, 0, d.VRF)
	d = v.sendOn(1, ip(false).UDP(9, 53).Frame())
	want(t, d, mib.Deliver, 0, demux.PathListener, red)
	assert.EqualValues(t, 1, d.VRF)
	v.b.Close(red)
	v.publish()
	want(t, v.sendOn(1, ip(false).UDP(9, 53).Frame()), mib.Drop, mib.NoSocket, demux.PathNone, 0)
	v.b.SetL3mdevAccept(false, true)
	v.publish()
	want(t, v.sendOn(1, ip(false).UDP(9, 53).Frame()), mib.Deliver, 0, demux.PathListener, open)
	want(t, v.sendOn(1, packettest.New().Eth(clientMAC, serverMAC).VLAN(7).IPv4(client4, server4).UDP(9, 53).Frame()), mib.Drop, mib.NoVRF, demux.PathNone, 0)
	v.conserved()
}

func TestChildOfUnboundListenerInAVRF(t *testing.T) {
	v := newEnv(t, envOptions{vrfs: []string{"red"}})
	v.b.SetL3mdevAccept(true, false)
	l := v.add(listener("web", "0.0.0.0:443"))
	want(t, v.sendOn(1, ip(false).TCP(1, 443, packet.SYN).Seq(1, 0).Frame()), mib.Deliver, 0, demux.PathListener, l)
	want(t, v.sendOn(1, ip(false).TCP(1, 443, packet.ACK).Seq(2, 0).Frame()), mib.Deliver, 0, demux.PathEstablished, l)
	want(t, v.send(ip(false).TCP(1, 443, packet.ACK).Seq(2, 0)), mib.Drop, mib.TCPFlags, demux.PathListener, 0)
}

func TestFragments(t *testing.T) {
	both(t, func(t *testing.T, v6 bool) {
		v := newEnv(t, envOptions{})
		u := v.add(udpSock("dns", anyAddr(v6, "53")))
		fs := ip(v6).UDP(9, 53).PayloadLen(3000).Fragments(1200, 77)
		for i, f := range fs {
			d := v.sendOn(0, f)
			if i < len(fs)-1 {
				want(t, d, mib.Hold, 0, demux.PathNone, 0)
			} else {
				want(t, d, mib.Deliver, 0, demux.PathListener, u)
			}
		}
		c := v.e.Counters()
		assert.EqualValues(t, len(fs), c.VRFs[1].NotTried[NotTriedFragment])
		v.conserved()
	})
}

func TestICMPErrors(t *testing.T) {
	v := newEnv(t, envOptions{})
	s := udpSock("conn", "10.0.0.1:7000")
	s.Connect = addr4("10.0.0.9:9000")
	conn := v.add(s)
	quoted := packettest.New().IPv4(server4, client4).UDP(7000, 9000).PayloadLen(8).Bytes()
	router := netip.MustParseAddr("10.0.0.254")
	unreachable := packettest.New().Eth(clientMAC, serverMAC).IPv4(router, server4).ICMP(3, 3, 0).Payload(quoted)
	want(t, v.send(unreachable), mib.Deliver, 0, demux.PathICMP, conn)
	echo := packettest.New().Eth(clientMAC, serverMAC).IPv4(router, server4).ICMP(8, 0, 1)
	d := v.send(echo)
	assert.Equal(t, mib.Punt, d.Verdict)
	assert.Equal(t, mib.ICMP, d.Punt)
	v.conserved()
}

func TestMulticastCopies(t *testing.T) {
	v := newEnv(t, envOptions{})
	for _, n := range []string{"a", "b", "c"} {
		s := udpSock(n, "0.0.0.0:5353")
		s.Reuseaddr = true
		v.add(s)
	}
	group := netip.MustParseAddr("224.0.0.251")
	d := v.send(packettest.New().Eth(clientMAC, packettest.MAC{1, 0, 0x5e, 0, 0, 0xfb}).IPv4(client4, group).UDP(5353, 5353))
	assert.Equal(t, demux.PathMcast, d.Path)
	require.Len(t, v.burst.Copies, 2)
	socks := map[uint32]bool{d.Sock: true}
	for _, c := range v.burst.Copies {
		socks[c.Sock] = true
	}
	assert.Len(t, socks, 3)
	assert.EqualValues(t, 2, v.e.Counters().Copies)
	v.conserved()
}

func TestDirections(t *testing.T) {
	local := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}
	v := newEnv(t, envOptions{local: local, mac: 0x020000000001})
	u := v.add(udpSock("dns", "0.0.0.0:53"))
	far := netip.MustParseAddr("192.0.2.9")
	in := packettest.New().Eth(clientMAC, serverMAC).IPv4(far, server4).UDP(9, 53)
	want(t, v.send(in), mib.Deliver, 0, demux.PathListener, u)
	out := packettest.New().Eth(clientMAC, serverMAC).IPv4(server4, far).UDP(53, 9)
	assert.Equal(t, mib.Egress, v.send(out).Verdict)
	sent := packettest.New().Eth(serverMAC, clientMAC).IPv4(far, server4).UDP(9, 53)
	assert.Equal(t, mib.Egress, v.send(sent).Verdict)
	other := packettest.New().Eth(clientMAC, packettest.MAC{2, 0, 0, 0, 0, 7}).IPv4(far, server4).UDP(9, 53)
	want(t, v.send(other), mib.Drop, mib.OtherHost, demux.PathNone, 0)
	nowhere := packettest.New().Eth(clientMAC, serverMAC).IPv4(far, netip.MustParseAddr("192.0.2.1")).UDP(9, 53)
	want(t, v.send(nowhere), mib.Drop, mib.IPInNoRoutes, demux.PathNone, 0)
	v.conserved()
}

func TestRouteChangesActAtOnce(t *testing.T) {
	local := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}
	v := newEnv(t, envOptions{local: local, exact: true})
	s := udpSock("conn", "10.0.0.1:7000")
	s.Connect = addr4("10.0.0.9:9000")
	v.add(s)
	l := v.add(listener("web", "0.0.0.0:443"))
	v.send(ip(false).TCP(1, 443, packet.SYN).Seq(1, 0))
	v.send(ip(false).TCP(1, 443, packet.ACK).Seq(2, 0))
	v.send(ip(false).UDP(9000, 7000))
	v.b.SetLocal(0, []netip.Prefix{netip.MustParsePrefix("10.0.0.2/32")})
	v.publish()
	want(t, v.send(ip(false).UDP(9000, 7000)), mib.Drop, mib.IPInNoRoutes, demux.PathNone, 0)
	want(t, v.send(ip(false).TCP(1, 443, packet.ACK).Seq(2, 0)), mib.Drop, mib.IPInNoRoutes, demux.PathNone, 0)
	v.b.SetLocal(0, local)
	v.publish()
	want(t, v.send(ip(false).TCP(1, 443, packet.ACK).Seq(2, 0)), mib.Deliver, 0, demux.PathEarly, l)
}

// TestPureACKsAreRoutedOnce: a stale route stamp is renewed by a segment that
// changes nothing else.
func TestPureACKsAreRoutedOnce(t *testing.T) {
	v := newEnv(t, envOptions{})
	v.add(listener("web", "0.0.0.0:443"))
	ack := func() { v.send(ip(false).TCP(1, 443, packet.ACK).Seq(2, 0)) }
	v.send(ip(false).TCP(1, 443, packet.SYN).Seq(1, 0))
	ack()
	v.b.SetLocal(0, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}) // the FIB changes
	v.publish()
	for range 5 {
		ack()
	}
	assert.EqualValues(t, 4, v.e.Counters().VRFs[1].Early[EarlyTCP].Skipped)
}

func TestFullTablePolicies(t *testing.T) {
	for _, p := range []struct {
		full flowtable.Policy
		want mib.Verdict
	}{{flowtable.Drop, mib.Drop}, {flowtable.Pass, mib.Deliver}} {
		v := newEnv(t, envOptions{limits: flowtable.Limits{Flows: 2, Full: p.full}})
		v.add(listener("web", "0.0.0.0:443"))
		var d Decision
		for port := uint16(1); port <= 3; port++ {
			d = v.send(ip(false).TCP(port, 443, packet.SYN).Seq(1, 0))
		}
		assert.Equal(t, p.want, d.Verdict, p.full.String())
		v.conserved()
	}
}

// TestEvictionGivesBacklogBack fills a table of one bucket's neighbourhood with
// requests: each new one takes the place of the oldest, in the table and in the
// backlog.
func TestEvictionGivesBacklogBack(t *testing.T) {
	v := newEnv(t, envOptions{limits: flowtable.Limits{Flows: 4, Full: flowtable.Evict}})
	s := listener("web", "0.0.0.0:443")
	s.Backlog = 6
	v.add(s)
	var delivered, full uint64
	for port := uint16(1); port <= 200; port++ {
		switch d := v.send(ip(false).TCP(port, 443, packet.SYN).Seq(1, 0)); {
		case d.Verdict == mib.Deliver:
			delivered++
		case d.Reason == mib.TableFull: // nothing to evict near its bucket
			full++
		default:
			t.Fatalf("SYN %d: %s", port, d.Reason)
		}
	}
	c := v.e.Counters()
	assert.Equal(t, delivered, c.Flows.Created)
	assert.Equal(t, full, c.Flows.TableFull)
	assert.Equal(t, delivered-4, c.Flows.Evicted)
	assert.Zero(t, c.Flows.ReqQFull)
	v.conserved()
}

func TestFullRing(t *testing.T) {
	v := newEnv(t, envOptions{ring: NewRing(4, false)})
	s := udpSock("dns", "0.0.0.0:53")
	s.Worker = 3
	v.add(s)
	for i := range 6 {
		d := v.send(ip(false).UDP(9, 53))
		if i < 4 {
			require.Equal(t, mib.Deliver, d.Verdict)
		} else {
			want(t, d, mib.Drop, mib.SocketRcvBuff, demux.PathListener, 0)
		}
	}
	v.conserved()
}

package dataplane

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"edemux/dataplane/packet"
	"edemux/dataplane/packet/packettest"
	"edemux/demux"
	"edemux/flowtable"

	"github.com/stretchr/testify/require"
)

// TestWalkAllocatesNothing covers each branch of the walk with a burst of its
// own kind.
func TestWalkAllocatesNothing(t *testing.T) {
	v := newEnv(t, envOptions{vrfs: []string{"red"}, exact: true, verifyL4: true, local: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("2001:db8::/64")},
		routes: []demux.Route{{To: netip.MustParsePrefix("192.0.2.0/25"), Via: 1}}})
	v.add(listener("web", "0.0.0.0:443"))
	v.add(listener("web6", "[2001:db8::1]:443"))
	for i := range 3 {
		s := udpSock("dns", "0.0.0.0:53")
		s.Name += string(rune('0' + i))
		s.Reuseport = true
		v.add(s)
	}
	c := udpSock("conn", "10.0.0.1:7000")
	c.Connect = addr4("10.0.0.9:9000")
	v.add(c)
	far := func() *packettest.Builder {
		return packettest.New().Eth(clientMAC, serverMAC).IPv4(client4, netip.MustParseAddr("192.0.2.200"))
	}
	for name, b := range map[string]*packettest.Builder{
		"udp early":         ip(false).UDP(9000, 7000).PayloadLen(20),
		"udp group":         ip(false).UDP(9001, 53).PayloadLen(20),
		"udp no socket":     ip(false).UDP(9001, 54).PayloadLen(20),
		"udp checksum":      ip(false).UDP(9000, 7000).BadSum().PayloadLen(20),
		"tcp retransmitted": ip(false).TCP(1, 443, packet.SYN).Seq(1, 0),
		"tcp6":              ip(true).TCP(1, 443, packet.SYN).Seq(1, 0),
		"tcp not listening": ip(false).TCP(1, 444, packet.SYN).Seq(1, 0),
		"tcp flags":         ip(false).TCP(2, 443, packet.ACK).Seq(1, 0),
		"no route":          far().UDP(1, 2),
		"forward":           packettest.New().Eth(clientMAC, serverMAC).IPv4(client4, netip.MustParseAddr("192.0.2.7")).UDP(1, 2),
		"sctp":              ip(false).SCTP(1, 2),
		"echo":              ip(false).ICMP(8, 0, 1),
		"icmp error":        ip(false).ICMP(3, 3, 0).Payload(packettest.New().IPv4(server4, client4).UDP(7000, 9000).PayloadLen(8).Bytes()),
		"arp":               packettest.New().Eth(clientMAC, serverMAC).EtherType(packet.EtherARP).PayloadLen(46),
		"bad header":        ip(false).Set(0, 0x44).UDP(1, 2),
		"fragment":          ip(false).ID(9).Fragment(0, true).UDP(1, 53).PayloadLen(64),
	} {
		t.Run(name, func(t *testing.T) {
			f := b.Frame()
			f.TS = v.now
			burst := NewBurst()
			burst.N = BurstMax
			for i := range burst.Frames {
				burst.Frames[i] = f
			}
			v.l.Walk(burst, 0) // creates what the first packet creates
			if n := testing.AllocsPerRun(10, func() { v.l.Walk(burst, 0) }); n != 0 {
				t.Errorf("%v allocations in a burst of %d, verdict %s %s", n, burst.N, burst.Dec[0].Verdict, burst.Dec[0].Reason)
			}
		})
	}
	v.conserved()
}

// TestBurstsDecideAlike sends the same random mix in bursts of several sizes
// through engines of their own: every decision and every count must agree.
func TestBurstsDecideAlike(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	frames := randomMix(rand.New(rand.NewPCG(seed, 1)), 3000)
	var first []Decision
	var counted *Counters
	for _, size := range []int{1, 2, 3, 7, 64} {
		v := newEnv(t, envOptions{midstream: true, limits: flowtable.Limits{Flows: 100, Full: flowtable.Drop}})
		for i := range 3 {
			s := listener("web", "0.0.0.0:443")
			s.Name += string(rune('0' + i))
			s.Reuseport, s.Backlog = true, 4
			v.add(s)
		}
		v.add(udpSock("dns", "0.0.0.0:53"))
		var got []Decision
		b := NewBurst()
		for at := 0; at < len(frames); at += b.N {
			b.N = min(size, len(frames)-at)
			copy(b.Frames, frames[at:at+b.N])
			v.l.Walk(b, 0)
			got = append(got, b.Dec[:b.N]...)
		}
		v.conserved()
		c := v.e.Counters()
		c.Bursts = 0
		if first == nil {
			first, counted = got, c
			require.Positive(t, c.Flows.TableFull, "the limit is met")
			require.Positive(t, c.Flows.ReqQFull, "the backlog is met")
			continue
		}
		for i := range got {
			require.Equal(t, first[i], got[i], "frame %d, bursts of %d", i+1, size)
		}
		require.Equal(t, counted, c, "bursts of %d", size)
	}
}

// randomMix makes packets of few flows with random flags, times and faults.
func randomMix(r *rand.Rand, n int) (all []packet.Frame) {
	now := 1000 * second
	for range n {
		now += r.Int64N(second / 2)
		b := ip(false)
		switch r.IntN(5) {
		case 0:
			b.UDP(uint16(r.IntN(50)), 53)
			if r.IntN(4) == 0 {
				b.BadSum()
			}
		default:
			flags := []uint8{packet.SYN, packet.ACK, packet.ACK, packet.ACK, packet.RST, packet.FIN | packet.ACK, packet.SYN | packet.ACK}
			b.TCP(uint16(r.IntN(300)), 443, flags[r.IntN(len(flags))]).Seq(uint32(r.IntN(4)), 0).PayloadLen(r.IntN(3))
		}
		f := b.Frame()
		f.TS = now
		all = append(all, f)
	}
	return all
}

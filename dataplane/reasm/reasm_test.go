package reasm

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/dataplane/packet/packettest"
)

// TestAnyOrder: every order of the fragments gives the datagram that was cut.
func TestAnyOrder(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for _, n := range []int{1, 100, 1500, 9000, 65000} {
		for _, size := range []int{8, 1480, 2048, 5000} {
			if n/size > 1000 {
				continue
			}
			for _, cut := range []func(int, int, uint32) ([]byte, []packet.Frame){datagram4, datagram6} {
				want, fs := cut(n, size, 9)
				if len(fs) < 2 {
					continue
				}
				r := newRig(t)
				for range 3 {
					rnd.Shuffle(len(fs), func(i, j int) { fs[i], fs[j] = fs[j], fs[i] })
					last := len(fs) - 1
					if !fits(fs) {
						continue
					}
					r.held(fs[:last]...)
					r.whole(fs[last], want)
				}
				r.empty()
			}
		}
	}
}

// fits reports whether the fragments fit into the default memory.
func fits(fs []packet.Frame) bool { return len(fs)*(blockSize+queueCharge) < DefaultBytes }

func TestDatagramParsesAsSent(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		_, fs := datagram4(4000, 1480, 3)
		if v6 {
			_, fs = datagram6(4000, 1448, 3)
		}
		r := newRig(t)
		r.held(fs[:2]...)
		res := r.add(fs[2])
		require.Equal(t, Complete, res.Outcome)
		packet.ParseDatagram(res.Datagram, res.WireLen, &packet.Options{VerifyIP: true, VerifyL4: true}, &r.buf.Meta)
		m := &r.buf.Meta
		require.Equal(t, mib.NotDropped, m.Reason)
		require.Equal(t, mib.NotDropped, m.L4Reason)
		require.False(t, m.Has(packet.L4CsumBad))
		require.EqualValues(t, 53, m.Dport)
		require.EqualValues(t, 4000, m.PayloadLen)
	}
}

func TestFirstFragmentsLinkLayerStays(t *testing.T) {
	b := packettest.New().Eth(packettest.MAC1, packettest.Broadcast).VLAN(5).IPv4(v4a, v4b).UDP(1, 2).PayloadLen(100)
	fs := b.Fragments(56, 1)
	r := newRig(t)
	r.held(fs[1])
	require.Equal(t, Complete, r.add(fs[0]).Outcome)
	require.Equal(t, packet.Broadcast, r.buf.Meta.PktType)
	require.EqualValues(t, 5, r.buf.Meta.VLANs)
	require.EqualValues(t, 1, r.buf.Meta.NVLAN)
}

func TestIPv4OptionsOfFirstFragmentStay(t *testing.T) {
	b := packettest.New().IPv4(v4a, v4b).ID(1).IPOptions(148, 4, 0, 0).UDP(1, 2).PayloadLen(100)
	fs := b.Fragments(56, 1)
	r := newRig(t)
	r.held(fs[1])
	r.whole(fs[0], b.Bytes())
}

// TestDuplicate: what lies within fragments that came in order is dropped and
// the datagram goes on (inet_frag_queue_insert).
func TestDuplicate(t *testing.T) {
	want, fs := datagram4(100, 40, 7)
	r := newRig(t)
	r.held(fs[0], fs[1])
	res := r.dropped(fs[0], mib.DupFrag)
	require.Zero(t, res.Failed)
	r.dropped(fs[1], mib.DupFrag)
	r.dropped(frag4(8, 8, true), mib.DupFrag)
	r.dropped(frag4(32, 16, true), mib.DupFrag) // across the seam of a run
	r.whole(fs[2], want)
	r.empty()
}

// TestSeamOfRuns: fragments that came out of order stay runs of their own, so
// one across their seam overlaps, as in Linux.
func TestSeamOfRuns(t *testing.T) {
	r := newRig(t)
	r.held(frag4(40, 40, true), frag4(0, 40, true))
	res := r.dropped(frag4(32, 16, true), mib.FragReasmFail)
	require.EqualValues(t, 1, res.Failed)
	require.EqualValues(t, 1, res.Overlaps)
	r.empty()
}

// TestDiscard: each contradiction ends the whole datagram, and what comes
// afterwards begins a new one.
func TestDiscard(t *testing.T) {
	for name, c := range map[string]struct {
		before  []packet.Frame
		f       packet.Frame
		overlap uint32
	}{
		"overlap at the end":     {[]packet.Frame{frag4(0, 40, true)}, frag4(32, 16, true), 1},
		"overlap at the front":   {[]packet.Frame{frag4(40, 40, true)}, frag4(32, 16, true), 1},
		"covers another":         {[]packet.Frame{frag4(40, 40, true)}, frag4(0, 120, true), 1},
		"longer duplicate":       {[]packet.Frame{frag4(0, 40, true)}, frag4(0, 48, true), 1},
		"two ends":               {[]packet.Frame{frag4(40, 40, false)}, frag4(80, 8, false), 0},
		"earlier end":            {[]packet.Frame{frag4(40, 40, false)}, frag4(40, 8, false), 0},
		"end before what came":   {[]packet.Frame{frag4(40, 40, true)}, frag4(8, 8, false), 0},
		"beyond the end":         {[]packet.Frame{frag4(40, 40, false)}, frag4(80, 8, true), 0},
		"no bytes":               {[]packet.Frame{frag4(0, 40, true)}, frag4(40, 0, true), 0},
		"no bytes at the end":    {[]packet.Frame{frag4(0, 40, true)}, frag4(40, 0, false), 0},
		"fewer than eight":       {[]packet.Frame{frag4(0, 40, true)}, frag4(40, 7, true), 0},
		"v6 overlap":             {[]packet.Frame{frag6(0, 40, true)}, frag6(32, 16, true), 1},
		"v6 beyond the end":      {[]packet.Frame{frag6(40, 40, false)}, frag6(80, 8, true), 0},
		"v6 no bytes at the end": {[]packet.Frame{frag6(0, 40, true)}, frag6(40, 0, false), 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.held(c.before...)
			res := r.dropped(c.f, mib.FragReasmFail)
			require.EqualValues(t, 1, res.Failed)
			require.Zero(t, res.TimedOut)
			require.Equal(t, c.overlap, res.Overlaps)
			r.empty()
			r.held(c.before...)
		})
	}
}

// TestIPv4OddLength: a fragment with more to follow is cut to a multiple of
// eight bytes.
func TestIPv4OddLength(t *testing.T) {
	r := newRig(t)
	r.held(frag4(0, 47, true))
	require.Equal(t, Complete, r.add(frag4(40, 8, false)).Outcome)
	r.empty()
}

func TestIPv6Refusals(t *testing.T) {
	r := newRig(t)
	r.held(frag6(0, 40, true))
	res := r.dropped(frag6(40, 12, true), mib.IPv6BadExthdr)
	require.EqualValues(t, 1, res.Failed)
	r.empty()
	r.dropped(frag6(0xfff8, 8, false), mib.IPv6BadExthdr)
	r.empty()
	f := packettest.New().IPv6(v6a, v6b).FragHdr(7).Fragment(0, true).Proto(6).PayloadLen(16).Frame()
	res = r.dropped(f, mib.IPv6BadExthdr) // the first fragment must hold the TCP header
	require.Zero(t, res.Failed)
	f = packettest.New().IPv6(v6a, v6b).FragHdr(7).Fragment(0, true).Proto(17).PayloadLen(8).Frame()
	r.held(f)
}

func TestTooLong(t *testing.T) {
	r := newRig(t)
	r.held(frag4(0, 8, true))
	for off := 8; off < 65528; off += 32760 {
		r.held(frag4(off, 32760, true))
	}
	res := r.dropped(frag4(65528, 8, false), mib.FragReasmFail) // header and all: 65556
	require.EqualValues(t, 1, res.Failed)
	r.empty()

	r.held(frag6(0, 32760, true))
	res = r.add(frag6(32760, 32767, false))
	require.Equal(t, Complete, res.Outcome)
	require.EqualValues(t, 65527+40, res.WireLen)
	r.empty()
}

func TestECN(t *testing.T) {
	const not, ect1, ect0, ce = 0, 1, 2, 3
	for _, c := range []struct {
		a, b uint8
		want int // ECN of the datagram, -1: dropped
	}{
		{not, not, not}, {ect0, ect0, ect0}, {ect1, ect1, ect1}, {ce, ce, ce},
		{ect0, ce, ce}, {ect1, ce, ce}, {ce, ect0, ce},
		{ect0, ect1, ect0}, {not, ce, -1}, {not, ect0, -1}, {ect1, not, -1},
	} {
		for _, v6 := range []bool{false, true} {
			r := newRig(t)
			at := func(tos uint8, off int, more bool) packet.Frame {
				if v6 {
					return packettest.New().IPv6(v6a, v6b).TOS(0xb8|tos).FragHdr(1).Fragment(off, more).Proto(17).PayloadLen(40).Frame()
				}
				return packettest.New().IPv4(v4a, v4b).TOS(0xb8|tos).Fragment(off, more).Proto(17).ID(5).PayloadLen(40).Frame()
			}
			r.held(at(c.a, 0, true))
			res := r.add(at(c.b, 40, false))
			if c.want < 0 {
				require.Equal(t, mib.FragReasmFail, res.Reason, "%v v6 %v", c, v6)
				require.EqualValues(t, 1, res.Failed)
			} else {
				require.Equal(t, Complete, res.Outcome)
				packet.ParseDatagram(res.Datagram, res.WireLen, &packet.Options{VerifyIP: true}, &r.buf.Meta)
				require.Equal(t, mib.NotDropped, r.buf.Meta.Reason)
				require.EqualValues(t, 0xb8|c.want, r.buf.Meta.TOS, "%v v6 %v", c, v6)
			}
			r.empty()
		}
	}
}

// TestKeys: what must be equal for two fragments to meet.
func TestKeys(t *testing.T) {
	type mk func(*packettest.Builder) *packettest.Builder
	base4 := func(off int, f mk) packet.Frame {
		b := f(packettest.New())
		return b.Fragment(off, off == 0).PayloadLen(40).Frame()
	}
	same := func(b *packettest.Builder) *packettest.Builder { return b.IPv4(v4a, v4b).ID(1).Proto(17) }
	for name, other := range map[string]mk{
		"id":          func(b *packettest.Builder) *packettest.Builder { return b.IPv4(v4a, v4b).ID(2).Proto(17) },
		"protocol":    func(b *packettest.Builder) *packettest.Builder { return b.IPv4(v4a, v4b).ID(1).Proto(1) },
		"source":      func(b *packettest.Builder) *packettest.Builder { return b.IPv4(v4b, v4b).ID(1).Proto(17) },
		"destination": func(b *packettest.Builder) *packettest.Builder { return b.IPv4(v4a, v4a).ID(1).Proto(17) },
	} {
		r := newRig(t)
		r.held(base4(0, same), base4(40, other))
		require.Equal(t, Complete, r.add(base4(40, same)).Outcome, name)
	}
	r := newRig(t)
	r.held(base4(0, same))
	r.vrf = 1
	r.held(base4(40, same))
	r.vrf = 0
	require.Equal(t, Complete, r.add(base4(40, same)).Outcome, "VRFs do not mix")
	r.held(base4(0, same))
	r.dev = 3
	require.Equal(t, Complete, r.add(base4(40, same)).Outcome, "interfaces of a VRF do")

	for _, c := range []struct {
		dst string
		mix bool
	}{{"2001:db8::2", true}, {"fe80::2", false}, {"ff02::2", false}} {
		r := newRig(t)
		f := func(off int) packet.Frame {
			return packettest.New().IPv6(v6a, addr(c.dst)).FragHdr(1).Fragment(off, off == 0).Proto(17).PayloadLen(40).Frame()
		}
		r.held(f(0))
		r.dev = 9
		want := Held
		if c.mix {
			want = Complete
		}
		require.Equal(t, want, r.add(f(40)).Outcome, c.dst)
	}
	r = newRig(t)
	r.held(frag6(0, 40, true))
	f := packettest.New().IPv6(v6a, v6b).FragHdr(7).Fragment(40, false).Proto(58).PayloadLen(40).Frame()
	require.Equal(t, Complete, r.add(f).Outcome, "IPv6 does not compare the next header")
}

// TestSnapped: what a capture cut off stays missing, and what is there is a
// true beginning of the datagram.
func TestSnapped(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		want, fs := datagram4(4000, 1480, 7)
		if v6 {
			want, fs = datagram6(4000, 1480, 7)
		}
		for cut := range fs {
			r := newRig(t)
			hdr := len(want) - 4008
			for i, f := range fs {
				if i == cut {
					f.Data = f.Data[:len(f.Data)-100]
				}
				if i < len(fs)-1 {
					r.held(f)
					continue
				}
				res := r.add(f)
				require.Equal(t, Complete, res.Outcome)
				require.EqualValues(t, len(want), res.WireLen)
				n := hdr + min(cut*1480+1380, 4008-100)
				require.Equal(t, want[:n], res.Datagram, "cut %d", cut)
			}
			r.empty()
		}
	}
	f := frag4(0, 40, true)
	f.Data = f.Data[:20]
	r := newRig(t)
	r.held(f)
	res := r.add(frag4(40, 8, false))
	require.Equal(t, Complete, res.Outcome)
	require.Len(t, res.Datagram, 20, "nothing but the header")
}

package reasm

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/dataplane/packet/packettest"
)

var (
	v4a = netip.MustParseAddr("10.0.0.1")
	v4b = netip.MustParseAddr("10.0.0.2")
	v6a = netip.MustParseAddr("2001:db8::1")
	v6b = netip.MustParseAddr("2001:db8::2")
)

const sec = int64(1e9)

// rig feeds a Table with frames.
type rig struct {
	t   *testing.T
	tab *Table
	buf Buffer
	now int64
	vrf uint16
	dev uint32
}

func newRig(t *testing.T) *rig { return &rig{t: t, tab: New(Config{Seed: 1})} }

func parse(t testing.TB, f *packet.Frame) packet.Meta {
	var m packet.Meta
	packet.Parse(f, &packet.Options{VerifyIP: true}, &m)
	require.Equal(t, mib.NotDropped, m.Reason)
	require.True(t, m.Has(packet.Fragment))
	return m
}

func (r *rig) add(f packet.Frame) Result {
	r.t.Helper()
	m := parse(r.t, &f)
	return r.tab.Add(&Fragment{Frame: &f, Meta: &m, Now: r.now, VRF: r.vrf, Dev: r.dev}, &r.buf)
}

func (r *rig) held(fs ...packet.Frame) {
	r.t.Helper()
	for i, f := range fs {
		res := r.add(f)
		require.Equal(r.t, Held, res.Outcome, "fragment %d: %s", i, res.Reason)
	}
}

func (r *rig) whole(f packet.Frame, want []byte) {
	r.t.Helper()
	res := r.add(f)
	require.Equal(r.t, Complete, res.Outcome, "%s", res.Reason)
	require.Equal(r.t, want, res.Datagram)
	require.EqualValues(r.t, len(want), res.WireLen)
}

func (r *rig) dropped(f packet.Frame, why mib.Reason) Result {
	r.t.Helper()
	res := r.add(f)
	require.Equal(r.t, Dropped, res.Outcome)
	require.Equal(r.t, why, res.Reason)
	return res
}

// empty checks that nothing is held and every slot is back in its arena.
func (r *rig) empty() {
	r.t.Helper()
	require.Zero(r.t, r.tab.Stats())
	for _, f := range []*family{&r.tab.v4, &r.tab.v6} {
		require.Equal(r.t, f.blocks.slots, freeSlots(&f.blocks), "blocks leak")
		require.Equal(r.t, f.queues.slots, freeSlots(&f.queues), "queues leak")
		for i := range f.shards {
			s := &f.shards[i]
			require.Zero(r.t, s.first|s.last)
			for _, h := range s.peers.head {
				require.Zero(r.t, h, "peers leak")
			}
		}
	}
}

func freeSlots[S any](a *arena[S]) (n uint32) {
	for i := a.free; i != 0; i = a.links[i-1] {
		n++
	}
	return n
}

// datagram returns a UDP datagram with n bytes of payload as it is without
// fragmentation, and its fragments.
func datagram4(n, size int, id uint32) ([]byte, []packet.Frame) {
	b := packettest.New().IPv4(v4a, v4b).ID(id).UDP(1000, 53).PayloadLen(n)
	return b.Bytes(), b.Fragments(size, id)
}

func datagram6(n, size int, id uint32) ([]byte, []packet.Frame) {
	b := packettest.New().IPv6(v6a, v6b).HopByHop().UDP(1000, 53).PayloadLen(n)
	return b.Bytes(), b.Fragments(size, id)
}

// frag4 is one IPv4 fragment of a UDP datagram.
func frag4(off, n int, more bool) packet.Frame { return frag4id(7, off, n, more) }

func frag4id(id uint32, off, n int, more bool) packet.Frame {
	return packettest.New().IPv4(v4a, v4b).ID(id).Fragment(off, more).Proto(17).PayloadLen(n).Frame()
}

func frag6(off, n int, more bool) packet.Frame {
	return packettest.New().IPv6(v6a, v6b).FragHdr(7).Fragment(off, more).Proto(17).PayloadLen(n).Frame()
}

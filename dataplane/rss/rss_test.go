package rss

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"edemux/dataplane/packet"
	"edemux/flowtable"
)

// bitwise is the definition: for every set input bit, from the left, add the
// 32 key bits that start at its position.
func bitwise(key Key, input []byte) (sum uint32) {
	bit := func(i int) uint32 { return uint32(key[i/8]>>(7-i%8)) & 1 }
	for i := range len(input) * 8 {
		if input[i/8]>>(7-i%8)&1 == 0 {
			continue
		}
		var w uint32
		for j := range 32 {
			w = w<<1 | bit(i+j)
		}
		sum ^= w
	}
	return sum
}

func input(s, d netip.Addr, ports ...uint16) []byte {
	b := append(s.AsSlice(), d.AsSlice()...)
	for _, p := range ports {
		b = binary.BigEndian.AppendUint16(b, p)
	}
	return b
}

func meta(saddr, daddr string, proto uint8, sport, dport uint16) *packet.Meta {
	s, d := netip.MustParseAddr(saddr), netip.MustParseAddr(daddr)
	m := &packet.Meta{
		Saddr: flowtable.AddrFrom(s), Daddr: flowtable.AddrFrom(d), Sport: sport, Dport: dport,
		Proto: proto, IPVer: 4, Flags: packet.HasTuple | packet.HasProto | packet.HasPorts,
	}
	if s.Is6() {
		m.IPVer = 6
	}
	return m
}

// The verification suite that Microsoft publishes with the definition.
var published = []struct {
	daddr        string
	dport        uint16
	saddr        string
	sport        uint16
	two, fourTup uint32
}{
	{"161.142.100.80", 1766, "66.9.149.187", 2794, 0x323e8fc2, 0x51ccc178},
	{"65.69.140.83", 4739, "199.92.111.2", 14230, 0xd718262a, 0xc626b0ea},
	{"12.22.207.184", 38024, "24.19.198.95", 12898, 0xd2d0a5de, 0x5c2b394a},
	{"209.142.163.6", 2217, "38.27.205.30", 48228, 0x82989176, 0xafc7327f},
	{"202.188.127.2", 1303, "153.39.163.191", 44251, 0x5d1809c5, 0x10e828a2},
	{"3ffe:2501:200:3::1", 1766, "3ffe:2501:200:1fff::7", 2794, 0x2cc18cd5, 0x40207d3d},
	{"ff02::1", 4739, "3ffe:501:8::260:97ff:fe40:efab", 14230, 0x0f0c461c, 0xdde51bbf},
	{"fe80::200:f8ff:fe21:67cf", 38024, "3ffe:1900:4545:3:200:f8ff:fe21:67cf", 44251, 0x4b61e985, 0x02d1feef},
}

func TestPublishedVectors(t *testing.T) {
	h := New(Microsoft())
	for _, v := range published {
		for _, proto := range []uint8{6, 17} {
			m := meta(v.saddr, v.daddr, proto, v.sport, v.dport)
			require.Equal(t, v.fourTup, h.Hash(m), "%s proto %d", v.saddr, proto)
			m.Flags |= packet.Fragment
			require.Equal(t, v.two, h.Hash(m), "%s fragment", v.saddr)
		}
		s, d := netip.MustParseAddr(v.saddr), netip.MustParseAddr(v.daddr)
		require.Equal(t, v.two, bitwise(Microsoft(), input(s, d)))
		require.Equal(t, v.fourTup, bitwise(Microsoft(), input(s, d, v.sport, v.dport)))
	}
}

func TestWhatIsHashed(t *testing.T) {
	h := New(Default())
	base := func() *packet.Meta { return meta("10.0.0.1", "10.0.0.2", 17, 1000, 2000) }
	two := h.Addrs(base().Saddr, base().Daddr)
	four := h.Tuple(base().Saddr, base().Daddr, 1000, 2000)
	require.NotEqual(t, two, four)
	for _, c := range []struct {
		name string
		edit func(*packet.Meta)
		want uint32
	}{
		{"udp", func(*packet.Meta) {}, four},
		{"tcp", func(m *packet.Meta) { m.Proto = 6 }, four},
		{"sctp has ports but is not hashed by them", func(m *packet.Meta) { m.Proto = 132 }, two},
		{"udp-lite", func(m *packet.Meta) { m.Proto = 136 }, two},
		{"first fragment", func(m *packet.Meta) { m.Flags |= packet.Fragment; m.MoreFrags = true }, two},
		{"atomic fragment", func(m *packet.Meta) { m.Flags |= packet.FragHdr }, two},
		{"cut before the ports", func(m *packet.Meta) { m.Flags &^= packet.HasPorts }, two},
		{"protocol not reached", func(m *packet.Meta) { m.Flags &^= packet.HasProto }, two},
		{"no IP header", func(m *packet.Meta) { m.Flags = packet.NonIPFrame }, 0},
	} {
		m := base()
		c.edit(m)
		require.Equal(t, c.want, h.Hash(m), c.name)
	}
}

func randAddr(r *rand.Rand, v4 bool) netip.Addr {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], r.Uint64())
	binary.BigEndian.PutUint64(b[8:], r.Uint64())
	if v4 {
		return netip.AddrFrom4([4]byte(b[:4]))
	}
	b[0] |= 0x20 // never a v4-mapped address
	return netip.AddrFrom16(b)
}

func TestTableEqualsDefinition(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	keys := []Key{Default(), Symmetric(), Microsoft(), {}}
	for i := range keys[3] {
		keys[3][i] = byte(r.Uint32())
	}
	for _, key := range keys {
		h := New(key)
		for i := range 400 {
			v4 := i%2 == 0
			s, d := randAddr(r, v4), randAddr(r, v4)
			sp, dp := uint16(r.Uint32()), uint16(r.Uint32())
			fs, fd := flowtable.AddrFrom(s), flowtable.AddrFrom(d)
			require.Equal(t, bitwise(key, input(s, d)), h.Addrs(fs, fd))
			want := bitwise(key, input(s, d, sp, dp))
			require.Equal(t, want, h.Tuple(fs, fd, sp, dp))
			other := uint16(r.Uint32())
			require.Equal(t, bitwise(key, input(s, d, sp, other)),
				want^h.PortTerm(dp, v4)^h.PortTerm(other, v4), "linear in the destination port")
		}
	}
}

func TestSymmetric(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	h := New(Symmetric())
	for i := range 200 {
		s, d := flowtable.AddrFrom(randAddr(r, i%2 == 0)), flowtable.AddrFrom(randAddr(r, i%2 == 0))
		sp, dp := uint16(r.Uint32()), uint16(r.Uint32())
		require.Equal(t, h.Tuple(s, d, sp, dp), h.Tuple(d, s, dp, sp))
		require.Equal(t, h.Addrs(s, d), h.Addrs(d, s))
	}
}

// A port search finds, for each queue, ports whose incoming packets land there,
// hashing the addresses once.
func TestPortSearch(t *testing.T) {
	h := New(Default())
	peer, local := flowtable.V4(0x0a000009), flowtable.V4(0x0a000001)
	base := h.Base(peer, local, 443)
	const queues = 8
	var found [queues]int
	for p := 32768; p < 61000; p++ {
		q := Queue(base^h.PortTerm(uint16(p), true), queues)
		require.Equal(t, Queue(h.Tuple(peer, local, 443, uint16(p)), queues), q)
		found[q]++
	}
	for q, n := range found {
		require.InDelta(t, (61000-32768)/queues, n, 60, "queue %d", q)
	}
}

func TestQueue(t *testing.T) {
	require.Zero(t, Queue(0xffffffff, 0))
	require.Zero(t, Queue(0xffffffff, 1))
	require.EqualValues(t, 127%6, Queue(0xffffffff, 6))
	require.EqualValues(t, 2, Queue(0xffffff82, 4), "only the low 7 bits count")
	for q := range uint16(300) {
		require.Less(t, Queue(rand.Uint32(), q+1), q+1)
	}
}

func TestNoAllocs(t *testing.T) {
	h := New(Default())
	v4, v6 := meta("10.0.0.1", "10.0.0.2", 17, 1, 2), meta("2001:db8::1", "2001:db8::2", 6, 3, 4)
	var sink uint16
	require.Zero(t, testing.AllocsPerRun(100, func() {
		sink += Queue(h.Hash(v4), 4) + Queue(h.Hash(v6), 4)
	}))
}

func BenchmarkHash(b *testing.B) {
	h := New(Default())
	for name, m := range map[string]*packet.Meta{
		"v4": meta("10.0.0.1", "10.0.0.2", 17, 1, 2), "v6": meta("2001:db8::1", "2001:db8::2", 6, 3, 4),
	} {
		b.Run(name, func(b *testing.B) {
			var s uint32
			for b.Loop() {
				m.Sport++
				s += h.Hash(m)
			}
			b.ReportMetric(float64(s&1), "parity")
		})
	}
}

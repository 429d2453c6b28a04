package flowtable

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"unsafe"

	"edemux/flowtable/prefetch"
)

// benchKeys returns n keys of a family in random order of their hashes.
func benchKeys(n int, v6 bool) []Key {
	r := rand.New(rand.NewPCG(1, 2))
	keys := make([]Key, n)
	for i := range keys {
		u := uint32(i)
		k := Key{Laddr: V4(0x0a000001 + u&3), Faddr: V4(0xac100000 + u>>4), Lport: uint16(443 + u>>2&3), Fport: uint16(r.Uint32())}
		if v6 {
			k.Laddr = Addr{0x20010db8 << 32, uint64(u&3) + 1}
			k.Faddr = Addr{0x20010db8<<32 | 1, uint64(k.Faddr.As4())}
		}
		keys[i] = k
	}
	r.Shuffle(n, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys
}

type benchTable struct {
	s    *Space
	hs   *Hasher
	keys []Key
}

// benchFlows builds a table by growth from 1024 buckets.
func benchFlows(b testing.TB, n int, v6 bool) *benchTable {
	hs := NewHasher(Secret{3})
	tb, err := New(Config{Name: "bench", Buckets: 1024, Max: 1 << 24, Flows: 1 << 24, Hasher: hs, Inline: true})
	noErr(b, err)
	b.Cleanup(tb.Close)
	s, err := tb.Space("default", hs.Seed("default"), Limits{})
	noErr(b, err)
	bt := &benchTable{s, hs, benchKeys(n, v6)}
	for i := range bt.keys {
		k := &bt.keys[i]
		if _, err := s.Insert(bt.hash(k), k, Flow{Sock: uint32(i + 1)}, 0); err != nil && err != ErrExist {
			b.Fatal(err)
		}
	}
	for tb.Step(1<<20, 0).Moved > 0 {
	}
	r := rand.New(rand.NewPCG(5, 2))
	r.Shuffle(n, func(i, j int) { bt.keys[i], bt.keys[j] = bt.keys[j], bt.keys[i] })
	return bt
}

func (bt *benchTable) hash(k *Key) uint32 {
	return bt.hs.Sum(bt.s.seed, k.Laddr, k.Faddr, k.Fport).Hash(k.Lport)
}

func sizes() []int {
	if os.Getenv("FLOWTABLE_BENCH_FULL") != "" {
		return []int{1000, 100_000, 1_000_000, 1 << 24}
	}
	return []int{1000, 100_000, 1_000_000}
}

func BenchmarkLookup(b *testing.B) {
	for _, v6 := range []bool{false, true} {
		for _, n := range sizes() {
			bt := benchFlows(b, n, v6)
			st := bt.s.t.Stats()
			name := fmt.Sprintf("v6=%v/flows=%d", v6, n)
			b.Run(name+"/burst", func(b *testing.B) {
				b.ReportMetric(float64(st.Bytes)/float64(st.Flows), "B/flow")
				bt.burst(b, bt.keys)
			})
			b.Run(name+"/single", func(b *testing.B) { bt.single(b) })
			miss := make([]Key, n)
			for i, k := range bt.keys {
				k.Lport ^= 0x4000
				miss[i] = k
			}
			b.Run(name+"/miss", func(b *testing.B) { bt.burst(b, miss) })
			if !v6 {
				b.Run(name+"/gather", func(b *testing.B) { bt.gather(b) })
			}
		}
	}
}

// burst looks keys up in bursts of 64, hashing included.
func (bt *benchTable) burst(b *testing.B, keys []Key) {
	var h [64]uint32
	var refs [64]Ref
	var socks [64]uint32
	at := 0
	for i := 0; i < b.N; i += 64 {
		if at+64 > len(keys) {
			at = 0
		}
		k := keys[at : at+64]
		at += 64
		for j := range k {
			h[j] = bt.hash(&k[j])
		}
		bt.s.LookupBurst(h[:], k, Dev{}, 0, refs[:], socks[:])
	}
}

func (bt *benchTable) single(b *testing.B) {
	at := 0
	for range b.N {
		k := &bt.keys[at]
		bt.s.Lookup(bt.hash(k), k, Dev{}, 0)
		if at++; at == len(bt.keys) {
			at = 0
		}
	}
}

var sink uint64

// gather is the ceiling: the same keys and hashes, one random line each.
func (bt *benchTable) gather(b *testing.B) {
	g := bt.s.t.v4.first.Load()
	var idx [64]uint32
	at := 0
	for i := 0; i < b.N; i += 64 {
		if at+64 > len(bt.keys) {
			at = 0
		}
		k := bt.keys[at : at+64]
		at += 64
		for j := range k {
			idx[j] = g.home(bt.hash(&k[j]))
		}
		prefetch.Lines(unsafe.Pointer(&g.lines[0]), idx[:])
		for j := range idx {
			sink += g.lines[idx[j]][2]
		}
	}
}

func BenchmarkGoMap(b *testing.B) {
	for _, n := range sizes() {
		keys := benchKeys(n, false)
		m := make(map[Key]uint32, n)
		for i := range keys {
			m[keys[i]] = uint32(i)
		}
		r := rand.New(rand.NewPCG(5, 2))
		r.Shuffle(n, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		b.Run(fmt.Sprintf("flows=%d", n), func(b *testing.B) {
			at := 0
			for range b.N {
				sink += uint64(m[keys[at]])
				if at++; at == len(keys) {
					at = 0
				}
			}
		})
	}
}

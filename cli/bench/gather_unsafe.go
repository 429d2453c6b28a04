package bench

import (
	"sync/atomic"
	"unsafe"

	"edemux/flowtable"
	"edemux/flowtable/prefetch"
)

// gather is the ceiling of a lookup: memory as large as the table's and on the
// same pages, of which it prefetches and loads, for each key, as many random
// lines as the table has to: one for IPv4, two for IPv6. It reads and hashes
// the keys, as a lookup must, and compares nothing.
type gather struct {
	hs    *flowtable.Hasher
	seed  flowtable.Seed
	sets  [2][]line     // home lines; records of IPv6
	sum   atomic.Uint64 // of what was loaded, so that it is
	pages string
	free  []func()
}

type line [8]uint64

// Distance between prefetch and load and number of prefetches in a row: a core
// keeps track of 16 to 24 misses, so more at once are dropped.
const (
	gatherAhead = 16
	gatherGroup = 4
)

// newGather maps the lines; records is 0 for IPv4.
func newGather(hs *flowtable.Hasher, seed flowtable.Seed, lines, records uint64, pages string) (*gather, error) {
	g := &gather{hs: hs, seed: seed}
	for i, n := range []uint64{lines, records} {
		if n == 0 {
			continue
		}
		mem, got, free, err := mapMemory(n*64, pages != "4k")
		if err != nil {
			g.close()
			return nil, err
		}
		g.free = append(g.free, free)
		if i == 0 {
			g.pages = got
		}
		g.sets[i] = unsafe.Slice((*line)(unsafe.Pointer(&mem[0])), n)
		for j := range g.sets[i] {
			g.sets[i][j][2] = uint64(j)
		}
	}
	return g, nil
}

func (g *gather) close() {
	for _, f := range g.free {
		f()
	}
	g.free = nil
}

// burst is one burst of keys.
func (g *gather) burst(k []flowtable.Key) uint64 {
	var idx [2][burst]uint32
	two := len(g.sets[1]) > 0
	n0, n1 := uint64(len(g.sets[0])), uint64(len(g.sets[1]))
	for i := range k {
		h := g.hs.Sum(g.seed, k[i].Laddr, k[i].Faddr, k[i].Fport).Hash(k[i].Lport)
		idx[0][i] = uint32(uint64(h) * n0 >> 32)
		if two {
			idx[1][i] = uint32(uint64(h*0x9e3779b1) * n1 >> 32)
		}
	}
	if two {
		return g.lines(0, 1, &idx, len(k))
	}
	return g.lines(0, 0, &idx, len(k))
}

// lines loads line idx[s][i] of the sets first to last for every i, prefetching
// ahead.
func (g *gather) lines(first, last int, idx *[2][burst]uint32, n int) (sum uint64) {
	ahead := gatherAhead / (1 + last - first)
	for at := 0; at < n+ahead; at += gatherGroup {
		if at < n {
			for s := first; s <= last; s++ {
				prefetch.Lines(unsafe.Pointer(&g.sets[s][0]), idx[s][at:min(n, at+gatherGroup)])
			}
		}
		for i := max(0, at-ahead); i < min(n, at-ahead+gatherGroup); i++ {
			for s := first; s <= last; s++ {
				sum += g.sets[s][idx[s][i]][2]
			}
		}
	}
	return sum
}

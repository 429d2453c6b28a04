package flowtable

import (
	"sync/atomic"
)

// geom is one size of one family's part of a table: its lines and, for IPv4,
// the cold parts. While the table grows there are two, the older one linking
// to the newer one.
type geom struct {
	v6         bool
	num, shift uint32 // line = bucket*num >> shift
	slots      int
	mask       uint32 // buckets-1
	main       uint32 // home lines; overflow lines follow
	flows      uint64 // most flows it takes, however they fall
	id         uint32 // 0..3, counts the geometries
	lines      []line
	cold       []cold4 // IPv4
	next       atomic.Pointer[geom]
	links      atomic.Pointer[[]uint64] // per slot, in shared tables; IPv4
	mem        []*region
	pool       pool

	_     [64]byte
	below atomic.Uint32 // home lines below have moved
	claim atomic.Uint32 // next home line to move
	moved atomic.Uint32 // number of home lines moved
	_     [64]byte
}

// Lines per bucket. Full to its growth threshold an IPv4 line's three slots
// expect 2.4 flows; at one flow a bucket, the most a table that may not grow
// further is meant for, 3.2.
const (
	num4, shift4 = 5, 4
	num6, shift6 = 1, 2

	// MinBuckets is the smallest table: 16 buckets are five lines.
	MinBuckets = 16
	// MaxBuckets is the largest table, twice what Linux allows.
	MaxBuckets = 1 << 25
)

// newGeom allocates a geometry of the given number of buckets that can hold
// flows flows, however they fall.
func newGeom(c *Config, v6 bool, buckets uint32, flows uint64, id uint32) (*geom, error) {
	g := &geom{v6: v6, num: num4, shift: shift4, slots: slots4, mask: buckets - 1, id: id}
	if v6 {
		g.num, g.shift, g.slots = num6, shift6, slots6
	}
	g.main = buckets * g.num >> g.shift
	// Chains are compact: a chain of m flows beyond its home line takes at most
	// (m+slots-1)/slots lines, which is never more than (m+slots)/slots of all
	// its flows; the slack is for lines on their way back.
	reserve := min(flows/uint64(g.slots)+64, maxOvf)
	g.flows = min(flows, (reserve-64)*uint64(g.slots)+uint64(g.slots)-1)
	n := uint64(g.main) + reserve
	r, err := newRegion(c.Name+": lines", uint64(g.main)*64, reserve*64, c.Pages)
	if err != nil {
		return nil, err
	}
	g.mem = append(g.mem, r)
	g.lines = view[line](r, n)
	if !v6 {
		if r, err = newRegion(c.Name+": flow state", uint64(g.main)*40, reserve*40, c.Pages); err != nil {
			g.free()
			return nil, err
		}
		g.mem = append(g.mem, r)
		g.cold = view[cold4](r, n)
	}
	g.pool.init(uint32(reserve))
	return g, nil
}

func (g *geom) free() {
	for _, r := range g.mem {
		r.free()
	}
	g.mem = nil
}

// home returns the home line of a hash.
func (g *geom) home(h uint32) uint32 { return (h & g.mask) * g.num >> g.shift }

func (g *geom) buckets() uint32 { return g.mask + 1 }

// ovf returns the line that header w continues in; w has one.
func (g *geom) ovf(w uint64) uint32 { return g.main + uint32(w>>ovfShift) - 1 }

// allocLine takes an empty overflow line, 0 when there is none (line 0 is a
// home line).
func (g *geom) allocLine() uint32 {
	n := g.pool.get(func(i uint32) *uint64 { return &g.lines[g.main+i][1] })
	if n == 0 {
		return 0
	}
	li := g.main + n - 1
	for i := range g.lines[li] {
		atomic.StoreUint64(&g.lines[li][i], 0)
	}
	return li
}

// freeLine gives an overflow line back. Readers that still walk it see empty
// slots and the end of the chain, and then a changed home version.
func (g *geom) freeLine(li uint32) {
	atomic.StoreUint64(&g.lines[li][0], 0)
	g.pool.put(li-g.main+1, &g.lines[li][1])
}

// bytes is the memory in use: everything in front, and of the reserve what has
// been touched.
func (g *geom) bytes() uint64 {
	per := uint64(64)
	if !g.v6 {
		per += 40
	}
	if l := g.links.Load(); l != nil {
		per += 8 * slots4
	}
	return (uint64(g.main) + uint64(g.pool.high())) * per
}

// pool hands out numbers 1..size: those that came back first, then fresh ones.
// It is a lock-free stack; the link of a free number is a word of its memory.
type pool struct {
	size uint32
	_    [56]byte
	head atomic.Uint64 // change count<<32 | number, 0 = empty
	top  atomic.Uint32 // fresh numbers used so far
	_    [48]byte
}

func (p *pool) init(size uint32) { p.size = size }

// high is the largest number that was ever in use.
func (p *pool) high() uint32 { return min(p.top.Load(), p.size) }

// get returns a number, 0 when all are in use. link is the link word of the
// number with index i (number-1).
func (p *pool) get(link func(i uint32) *uint64) uint32 {
	for {
		h := p.head.Load()
		n := uint32(h)
		if n == 0 {
			break
		}
		// The word may change under us; then so has the count in head.
		next := atomic.LoadUint64(link(n - 1))
		if p.head.CompareAndSwap(h, (h>>32+1)<<32|next&0xffffffff) {
			return n
		}
	}
	for {
		n := p.top.Load()
		if n >= p.size {
			return 0
		}
		if p.top.CompareAndSwap(n, n+1) {
			return n + 1
		}
	}
}

func (p *pool) put(n uint32, link *uint64) {
	for {
		h := p.head.Load()
		atomic.StoreUint64(link, h&0xffffffff)
		if p.head.CompareAndSwap(h, (h>>32+1)<<32|uint64(n)) {
			return
		}
	}
}

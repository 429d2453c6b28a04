package flowtable

import (
	"runtime"
	"sync/atomic"
)

// side is one family's part of a table.
type side struct {
	t     *Table
	v6    bool
	first atomic.Pointer[geom] // the oldest geometry with flows; nil before the first flow

	recs    []line // IPv6 records, number 0 unused
	recPool pool
	recMem  []*region
	links   atomic.Pointer[[]uint64] // per record, in shared tables

	_     [64]byte
	count atomic.Int64 // flows
	_     [56]byte

	growing  atomic.Bool
	want     atomic.Uint32 // buckets that the flows seen so far ask for
	noGrowTo atomic.Int64  // after a failed allocation: flows at which to try again
	lap      lap
}

// chain is a home line held by a writer.
type chain struct {
	sd   *side
	g    *geom
	home uint32
	w    uint64 // home header to be, lock bit set
}

// spins bounds how long a writer of the packet path tries for a bucket.
const spins = 512

// lock takes the chain of hash h where the flows of that hash are now; false
// when other writers kept it for too long.
func (sd *side) lock(h uint32) (c chain, ok bool) {
	g := sd.first.Load()
	for range spins {
		li := g.home(h)
		w := atomic.LoadUint64(&g.lines[li][0])
		switch {
		case w&movedBit != 0:
			g = g.next.Load()
		case w&lockBit != 0:
		case atomic.CompareAndSwapUint64(&g.lines[li][0], w, w|lockBit):
			return chain{sd, g, li, w | lockBit}, true
		}
	}
	return c, false
}

// lockLine takes a home line, waiting for other writers; false when it moved.
func (sd *side) lockLine(g *geom, li uint32) (c chain, ok bool) {
	for n := 1; ; n++ {
		w := atomic.LoadUint64(&g.lines[li][0])
		if w&movedBit != 0 {
			return c, false
		}
		if w&lockBit == 0 && atomic.CompareAndSwapUint64(&g.lines[li][0], w, w|lockBit) {
			return chain{sd, g, li, w | lockBit}, true
		}
		if n%spins == 0 {
			runtime.Gosched()
		}
	}
}

// lockWait is lock for control threads: it waits.
func (sd *side) lockWait(h uint32) chain {
	for {
		if c, ok := sd.lock(h); ok {
			return c
		}
		runtime.Gosched()
	}
}

// unlock publishes the header with a new version.
func (c *chain) unlock() {
	v := (c.w + 1) & verMask
	atomic.StoreUint64(&c.g.lines[c.home][0], c.w&^(lockBit|verMask)|v)
}

// cancel unlocks a chain that was not changed.
func (c *chain) cancel() {
	atomic.StoreUint64(&c.g.lines[c.home][0], c.w&^lockBit)
}

func (c *chain) hdr(li uint32) uint64 {
	if li == c.home {
		return c.w
	}
	return atomic.LoadUint64(&c.g.lines[li][0])
}

func (c *chain) setHdr(li uint32, w uint64) {
	if li == c.home {
		c.w = w
		return
	}
	atomic.StoreUint64(&c.g.lines[li][0], w)
}

// after returns the line that follows li in the chain, 0 at its end (an
// overflow line is never line 0).
func (c *chain) after(li uint32) uint32 {
	w := c.hdr(li)
	if w>>ovfShift == 0 {
		return 0
	}
	return c.g.ovf(w)
}

// flags sets occupancy, state and "has a deadline" of a slot.
func (c *chain) flags(p pos, state uint64, dl bool) {
	w := c.hdr(p.li)
	sh := dl6Shift + p.i
	if !c.g.v6 {
		sh = dl4Shift + p.i
		w = w&^(3<<(flagShift+2*p.i)) | state<<(flagShift+2*p.i)
	}
	w &^= 1 << sh
	if dl {
		w |= 1 << sh
	}
	c.setHdr(p.li, w)
}

// write stores everything but an IPv6 slot's record number.
func (c *chain) write(p pos, e *entry) {
	if c.g.v6 {
		c.sd.record(c.g.rec6(p)).encode(e)
	} else {
		l := &c.g.lines[p.li]
		a, ports, _ := e.key.split4()
		atomic.StoreUint64(&l[2+2*p.i], a)
		atomic.StoreUint64(&l[3+2*p.i], uint64(ports)<<32|uint64(e.Sock))
		sh := ownerBits * p.i
		atomic.StoreUint64(&l[1], l[1]&^(ownerMask<<sh)|uint64(e.owner)<<sh)
		c.g.cold[p.li].set(p.i, e.Deadline, e.gen, e.Next)
	}
	c.flags(p, uint64(e.State)+1, e.Deadline != 0)
}

// clear empties a slot.
func (c *chain) clear(p pos) {
	if c.g.v6 {
		c.g.setRec6(p, 0, 0)
	}
	c.flags(p, 0, false)
}

// move copies a slot over another, list membership included. The source keeps
// its contents until it is overwritten or cleared.
func (c *chain) move(from, to pos) {
	g, w := c.g, c.hdr(from.li)
	if g.v6 {
		g.setRec6(to, g.rec6(from), g.tagAt(from))
		c.flags(to, 0, g.hasDl(w, from))
		return
	}
	e := c.sd.read(g, w, from)
	c.write(to, &e)
	if s := c.sd.t.space(e.owner); s.listed {
		s.list(false).move(c.sd, g.link4(to), c.linkWord(from), c.linkWord(to))
	}
}

// last returns the chain's last used slot and the line before its line (its
// own line when that is the home line). The chain is not empty.
func (c *chain) last() (p pos, prev uint32) {
	p.li, prev = c.home, c.home
	for n := c.after(p.li); n != 0; n = c.after(n) {
		prev, p.li = p.li, n
	}
	for p.i = c.g.slots - 1; p.i > 0 && !c.g.used(c.hdr(p.li), p); p.i-- {
	}
	return p, prev
}

// place finds the slot for a flow with key k and hash h: an empty one, made by
// an overflow line when there is none. With a space it comes before every slot
// with the same key in that space (and so with the same filter bit), so that
// the newest of them is found first.
func (c *chain) place(h uint32, k *Key, s *Space) (p pos, ok bool) {
	free, end := pos{}, uint32(0)
	found := false
	same := make([]pos, 0, 8)
	for li := c.home; ; {
		for i := range c.g.slots {
			q := pos{li, i}
			switch {
			case !c.g.used(c.hdr(li), q):
				if !found {
					free, found = q, true
				}
			case s != nil && !found && c.sd.sameKey(c.g, q, k) && c.sd.t.space(c.sd.owner(c.g, q)) == s:
				same = append(same, q)
			}
		}
		if end = li; c.after(li) == 0 || found {
			break
		}
		li = c.after(li)
	}
	if !found {
		li := c.g.allocLine()
		if li == 0 {
			return p, false
		}
		c.setHdr(end, c.hdr(end)|uint64(li-c.g.main+1)<<ovfShift)
		free = pos{li, 0}
	}
	if free.li != c.home {
		c.w |= fltBit(h)
	}
	for i := len(same) - 1; i >= 0; i-- {
		c.move(same[i], free)
		free = same[i]
	}
	return free, true
}

// drop empties slot p and closes the gap, so that only the chain's last line is
// partly filled: the last flow moves into it, or, where flows with equal keys
// would change their order by that, each of them moves up by one.
func (c *chain) drop(p pos) {
	end, prev := c.last()
	for p != end {
		from := c.successor(p, end)
		c.move(from, p)
		p = from
	}
	c.clear(end)
	if end.i == 0 && end.li != c.home {
		c.setHdr(prev, c.hdr(prev)&^ovfMask)
		c.g.freeLine(end.li)
		if prev == c.home {
			c.w &^= fltMask
		}
	}
}

// successor is the slot to move to p: the first one after p with the key of
// end, which may be end itself.
func (c *chain) successor(p, end pos) pos {
	k := c.sd.read(c.g, c.hdr(end.li), end).key
	for {
		if p.i++; p.i == c.g.slots {
			p = pos{c.after(p.li), 0}
		}
		if p == end || c.sd.sameKey(c.g, p, &k) {
			return p
		}
	}
}

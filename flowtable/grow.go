package flowtable

import "sync/atomic"

// Growth: a family's part doubles (or more) when its flows reach three
// quarters of its buckets. The new geometry is allocated in the background and
// linked behind the old one; from then on every Step and every Insert moves
// some home lines. A home line moves as a whole: its flows are copied, then its
// header says "moved"; a flow is found in the old geometry before that store
// and in the new one after it. Since the number of buckets is multiplied by a
// power of two, the lines that an old line's flows go to receive flows from
// that line only, so nobody else touches them before the store.

// stepInsert is how many entries an insert moves while the table grows. Moving
// one line every other insert would be enough to finish before the next
// doubling is due.
const stepInsert = 4

// help is what every insert does for growth.
func (sd *side) help(now int64) {
	g := sd.first.Load()
	if g.next.Load() != nil {
		sd.migrate(stepInsert, now)
		return
	}
	if n := sd.count.Load(); sd.t.cfg.Max > g.buckets() && uint64(n)*4 > 3*uint64(g.buckets()) && n >= sd.noGrowTo.Load() {
		sd.grow()
	}
}

// grow starts growing, unless it is on its way.
func (sd *side) grow() {
	if !sd.growing.CompareAndSwap(false, true) {
		return
	}
	if sd.t.cfg.Inline {
		sd.extend()
		return
	}
	sd.t.wg.Add(1)
	go func() {
		defer sd.t.wg.Done()
		sd.extend()
	}()
}

// extend allocates the next geometry and links it.
func (sd *side) extend() {
	t := sd.t
	t.mu.Lock()
	defer t.mu.Unlock()
	g := sd.first.Load()
	buckets := g.buckets()
	for buckets < t.cfg.Max && uint64(sd.count.Load())*4 > 3*uint64(buckets) {
		buckets *= 2
	}
	if buckets == g.buckets() {
		sd.growing.Store(false)
		return
	}
	next, err := sd.alloc(buckets, (g.id+1)&3)
	if err != nil {
		t.err = err
		sd.noGrowTo.Store(sd.count.Load() * 9 / 8)
		sd.growing.Store(false)
		return
	}
	sd.want.Store(buckets)
	g.next.Store(next)
}

// migrate moves lines until it has moved budget entries (an empty line counts
// as one) or none is left, and returns the number of entries moved.
func (sd *side) migrate(budget int, now int64) (moved int) {
	g := sd.first.Load()
	if g == nil || g.next.Load() == nil {
		return 0
	}
	for budget > 0 && g.claim.Load() < g.main {
		li := g.claim.Add(1) - 1
		if li >= g.main {
			break
		}
		n := sd.moveLine(g, li, now)
		moved += n
		budget -= max(1, n)
		g.advance()
		if g.moved.Add(1) == g.main {
			sd.first.Store(g.next.Load())
			sd.t.retire(g)
			sd.growing.Store(false)
		}
	}
	return moved
}

// advance raises the mark below which every line has moved.
func (g *geom) advance() {
	for {
		b := g.below.Load()
		if b >= g.main || atomic.LoadUint64(&g.lines[b][0])&movedBit == 0 {
			return
		}
		g.below.CompareAndSwap(b, b+1)
	}
}

// moveLine moves one chain and returns the number of its flows. Flows past
// their deadline end here.
func (sd *side) moveLine(g *geom, li uint32, now int64) (n int) {
	c, ok := sd.lockLine(g, li)
	if !ok {
		return 0
	}
	to := g.next.Load()
	for from := c.home; ; {
		w := c.hdr(from)
		for i := range g.slots {
			if p := (pos{from, i}); g.used(w, p) {
				n++
				sd.moveSlot(&c, to, p, now)
			}
		}
		if from = c.after(from); from == 0 {
			break
		}
	}
	c.w |= movedBit
	c.unlock()
	return n
}

// moveSlot copies the flow in slot p of c to the next geometry, behind those
// that are there already, which keeps the order of flows with equal keys.
func (sd *side) moveSlot(c *chain, to *geom, p pos, now int64) {
	g := c.g
	w := c.hdr(p.li)
	e := sd.read(g, w, p)
	s := sd.t.space(e.owner)
	if e.Deadline != 0 && now >= e.Deadline {
		s.forget(c, p, e.State)
		sd.lap.sawLag(now - e.Deadline)
		sd.t.stat.expired.Add(1)
		return
	}
	h := s.hash(&e.key)
	home := to.home(h)
	d := chain{sd, to, home, atomic.LoadUint64(&to.lines[home][0])}
	q, ok := d.place(h, &e.key, nil)
	if !ok {
		panic("flowtable: no line left for a flow that is counted")
	}
	if g.v6 {
		to.setRec6(q, g.rec6(p), tag6(h))
		d.flags(q, 0, e.Deadline != 0)
	} else {
		d.write(q, &e)
		if s.listed {
			s.list(false).move(sd, to.link4(q), c.linkWord(p), d.linkWord(q))
		}
	}
	atomic.StoreUint64(&to.lines[home][0], d.w)
}

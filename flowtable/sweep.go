package flowtable

import (
	"math"
	"runtime"
	"sync/atomic"
)

// noDeadline is later than every deadline.
const noDeadline = math.MaxInt64

// eraseMax bounds how many flows one visit of a chain removes.
const eraseMax = 64

// lap is the state of expiry in one family. Bounded pieces of a lap visit every
// line once. minDl is at most every deadline in lines that the lap has visited
// or that was set since the lap began; between laps that is every deadline, and
// no lap begins before it.
type lap struct {
	cursor  atomic.Uint32 // next line
	running atomic.Bool
	regen   atomic.Bool // FIB generations have moved on: mark old codes
	minDl   atomic.Int64
	lag     atomic.Int64 // ns, longest time past a deadline seen in this lap
	lastLag atomic.Int64 // of the lap before
	laps    atomic.Uint64
}

// sawDl takes note of a deadline in the table, 0 is none.
func (l *lap) sawDl(d int64) {
	for m := l.minDl.Load(); d != 0 && d < m; m = l.minDl.Load() {
		l.minDl.CompareAndSwap(m, d)
	}
}

func (l *lap) sawLag(d int64) {
	for m := l.lag.Load(); d > m; m = l.lag.Load() {
		l.lag.CompareAndSwap(m, d)
	}
}

func (l *lap) due(now int64) bool {
	return l.running.Load() || now >= l.minDl.Load() || l.regen.Load()
}

// begin starts a lap.
func (l *lap) begin() {
	if l.running.CompareAndSwap(false, true) {
		l.regen.Store(false)
		l.lastLag.Store(l.lag.Swap(0))
		l.minDl.Store(noDeadline)
	}
}

// Work is what a Step did.
type Work struct {
	Moved   int // flows moved to the next size
	Swept   int // lines and flows with deadlines looked at
	Expired int // flows removed because of their deadline
}

// Step does a bounded piece of the table's housekeeping: it moves about budget
// flows of a growing table, or looks at about as many for expiry. One chain is
// the smallest piece. lcores call it between bursts; any number of threads may
// at once.
func (t *Table) Step(budget int, now int64) (w Work) {
	for _, sd := range []*side{&t.v4, &t.v6} {
		switch g := sd.first.Load(); {
		case g == nil:
		case g.next.Load() != nil:
			w.Moved += sd.migrate(budget, now)
		case sd.lap.due(now):
			sd.sweep(g, budget, now, &w)
		}
	}
	return w
}

// sweep continues the lap, or begins one.
func (sd *side) sweep(g *geom, budget int, now int64, w *Work) {
	sd.lap.begin()
	for budget > 0 {
		li := sd.lap.cursor.Load()
		if li >= g.main {
			if sd.lap.cursor.CompareAndSwap(li, 0) {
				sd.lap.running.Store(false)
				sd.lap.laps.Add(1)
			}
			return
		}
		if sd.lap.cursor.CompareAndSwap(li, li+1) {
			n, dead := sd.sweepLine(g, li, now)
			w.Swept += n
			w.Expired += dead
			budget -= n
		}
	}
}

// sweepLine removes what is past its deadline from one chain, marks outdated
// FIB generations, and returns the number of lines and flows looked at.
func (sd *side) sweepLine(g *geom, li uint32, now int64) (n, dead int) {
	n, work, ok := sd.inspect(g, li, now)
	if ok && !work {
		return n, 0
	}
	c, ok := sd.lockLine(g, li)
	if !ok {
		sd.lap.sawDl(now) // growth overtook the lap: look again after it
		return n, 0
	}
	dead = sd.expire(&c, now)
	if !sd.v6 {
		sd.mark(&c)
	}
	c.unlock()
	sd.t.stat.expired.Add(uint64(dead))
	return n, dead
}

// inspect reads a chain without taking it: does it need work? ok is false when
// a writer was there. Deadlines ahead are noted.
func (sd *side) inspect(g *geom, li uint32, now int64) (n int, work, ok bool) {
	home := &g.lines[li][0]
	w := atomic.LoadUint64(home)
	if w&(lockBit|movedBit) != 0 {
		return 1, false, false
	}
	for lw := w; ; {
		n++
		for i := range g.slots {
			p := pos{li, i}
			if !g.used(lw, p) {
				continue
			}
			if g.hasDl(lw, p) {
				n++
				d := sd.deadline(g, p)
				work = work || now >= d
				sd.lap.sawDl(max(d, 1))
			}
			work = work || !g.v6 && sd.outdated(g, lw, p)
		}
		if lw>>ovfShift == 0 {
			break
		}
		li = g.ovf(lw)
		lw = atomic.LoadUint64(&g.lines[li][0])
		if atomic.LoadUint64(home) != w {
			break
		}
	}
	ok = atomic.LoadUint64(home) == w
	runtime.KeepAlive(g)
	return n, work, ok
}

// outdated reports whether an IPv4 slot's FIB generation must be marked as too
// old, see Space.genCode.
func (sd *side) outdated(g *geom, w uint64, p pos) bool {
	code := g.cold[p.li].gen(p.i)
	if code == 0 {
		return false
	}
	owners := *sd.t.owners.Load()
	o := int(sd.owner(g, p))
	return o < len(owners) && owners[o].space != nil && owners[o].space.genOf(code) == 0
}

// mark does what outdated asks for in a chain.
func (sd *side) mark(c *chain) {
	for li := c.home; ; {
		for i := range c.g.slots {
			if p := (pos{li, i}); c.g.used(c.hdr(li), p) && sd.outdated(c.g, c.hdr(li), p) {
				e := sd.read(c.g, c.hdr(li), p)
				e.gen = 0
				c.write(p, &e)
			}
		}
		if li = c.after(li); li == 0 {
			return
		}
	}
}

// expire removes what is past its deadline from a held chain, at most eraseMax
// flows, and notes the deadlines that stay.
func (sd *side) expire(c *chain, now int64) (dead int) {
	for {
		p, d := c.seek(func(p pos) bool { return sd.expired(c.g, c.hdr(p.li), p, now) }), int64(0)
		if p.i < 0 {
			break
		}
		d = sd.deadline(c.g, p)
		if dead == eraseMax {
			sd.lap.sawDl(d)
			break
		}
		sd.lap.sawLag(now - d)
		sd.t.space(sd.owner(c.g, p)).erase(c, p)
		dead++
	}
	c.seek(func(p pos) bool {
		if c.g.hasDl(c.hdr(p.li), p) {
			sd.lap.sawDl(sd.deadline(c.g, p))
		}
		return false
	})
	return dead
}

// seek returns the first used slot of a held chain that f accepts, slot -1
// when there is none.
func (c *chain) seek(f func(pos) bool) pos {
	for li := c.home; ; {
		for i := range c.g.slots {
			if p := (pos{li, i}); c.g.used(c.hdr(li), p) && f(p) {
				return p
			}
		}
		if li = c.after(li); li == 0 {
			return pos{0, -1}
		}
	}
}

// Expire removes every flow that is past its deadline, whatever their number,
// and returns it. When none can be, it costs a comparison: replay calls it
// where limits are tested, so that sweeping never shows in a decision.
func (t *Table) Expire(now int64) (n int) {
	r := t.Reader()
	defer r.Close()
	for _, sd := range []*side{&t.v4, &t.v6} {
		if g := sd.first.Load(); g == nil || !sd.lap.due(now) {
			continue
		}
		sd.lap.minDl.Store(noDeadline)
		dead := 0
		sd.visit(func(c *chain) bool {
			was := dead
			for d := sd.expire(c, now); d > 0; d = sd.expire(c, now) {
				dead += d
			}
			return dead != was
		})
		sd.t.stat.expired.Add(uint64(dead))
		n += dead
	}
	return n
}

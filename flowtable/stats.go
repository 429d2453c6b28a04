package flowtable

import "sync/atomic"

// counters of a table. They count rare events; per-packet figures are the
// caller's.
type counters struct {
	full, evicted, passed, twFull atomic.Uint64
	contended, expired            atomic.Uint64
	depth                         atomic.Uint32
	alarms                        atomic.Uint64
}

// depthAlarm is the chain length at which an insert counts as an alarm in a
// table that can grow: with at most one flow a bucket and three or four
// buckets a line, honest chances for it are below 1e-20 (docs/hash.md).
const depthAlarm = 40

func (c *counters) sawDepth(d uint32) {
	if d >= depthAlarm {
		c.alarms.Add(1)
	}
	for m := c.depth.Load(); d > m; m = c.depth.Load() {
		c.depth.CompareAndSwap(m, d)
	}
}

// FamilyStats describes one family's part of a table.
type FamilyStats struct {
	Buckets  uint32  // current size; 0: no flow yet, no memory
	Want     uint32  // size that growth is heading for
	Flows    uint64  // flows held, those past their deadline included
	Lines    uint64  // home lines
	Overflow uint64  // most overflow lines ever in use at this size
	Bytes    uint64  // memory in use, both sizes while growing
	Pages    string  // of the home lines: "4k", "2M" or "heap"
	Growing  bool    // decided, under way or allocating
	Moved    float64 // share of the lines moved while growing
}

// Stats describes a table.
type Stats struct {
	Name         string
	Start, Max   uint32 // buckets
	Buckets      uint32 // the larger family's, see V4 and V6
	Limit        uint64 // most flows
	V4, V6       FamilyStats
	Flows        uint64
	NewSynRecv   uint64
	TimeWait     uint64
	Bytes        uint64 // memory in use
	Nominal      uint64 // memory of this many buckets filled to their growth threshold: the same in every run
	Pages        string
	Growing      bool
	Spaces       int
	Shared       bool
	Expired      uint64 // flows swept
	LagNs        int64  // longest time that a swept flow was past its deadline, this lap or the last
	Laps         uint64 // finished sweeps of the whole table
	MaxDepth     uint32 // longest chain that an insert has seen, in flows
	DepthAlarms  uint64 // inserts into chains longer than honest traffic makes them
	Full         uint64 // refused: full
	Evicted      uint64 // removed to make room
	Passed       uint64 // refused with ErrPass
	TimeWaitFull uint64 // TIME_WAIT entries over the limit
	Contended    uint64 // changes given up because of a busy bucket
	GrowError    string // the last allocation that failed, with its bytes
}

// Stats returns the figures of this moment.
func (t *Table) Stats() Stats {
	t.mu.Lock() // regions are added under it
	defer t.mu.Unlock()
	c := &t.stat
	s := Stats{
		Name: t.cfg.Name, Start: t.cfg.Buckets, Max: t.cfg.Max, Limit: t.cfg.Flows,
		V4: t.v4.stats(), V6: t.v6.stats(),
		Expired: c.expired.Load(), MaxDepth: c.depth.Load(), DepthAlarms: c.alarms.Load(),
		Full: c.full.Load(), Evicted: c.evicted.Load(), Passed: c.passed.Load(),
		TimeWaitFull: c.twFull.Load(), Contended: c.contended.Load(),
		LagNs: max(t.v4.lap.lag.Load(), t.v4.lap.lastLag.Load(), t.v6.lap.lag.Load(), t.v6.lap.lastLag.Load()),
		Laps:  t.v4.lap.laps.Load() + t.v6.lap.laps.Load(),
	}
	s.Buckets = max(s.V4.Buckets, s.V6.Buckets)
	s.Flows = s.V4.Flows + s.V6.Flows
	s.Bytes = s.V4.Bytes + s.V6.Bytes
	s.Pages, s.Growing = s.V4.Pages, s.V4.Growing || s.V6.Growing
	s.Nominal = t.v4.nominal(t.linked) + t.v6.nominal(t.linked)
	s.Spaces, s.Shared = len(t.spaces), t.linked
	for sp := range t.spaces {
		s.NewSynRecv += uint64(sp.nsr.Load())
		s.TimeWait += uint64(sp.tw.Load())
	}
	if t.err != nil {
		s.GrowError = t.err.Error()
	}
	return s
}

func (sd *side) stats() (f FamilyStats) {
	g := sd.first.Load()
	if g == nil {
		return f
	}
	f.Want, f.Flows, f.Pages = sd.want.Load(), uint64(sd.count.Load()), g.mem[0].pages
	if sd.v6 {
		f.Bytes = 64 * uint64(sd.recPool.high())
		if sd.links.Load() != nil {
			f.Bytes += 8 * uint64(sd.recPool.high())
		}
	}
	f.Growing = sd.growing.Load()
	if g.next.Load() != nil {
		f.Moved = float64(g.moved.Load()) / float64(g.main)
	}
	for ; g != nil; g = g.next.Load() {
		f.Buckets, f.Lines, f.Overflow = g.buckets(), uint64(g.main), uint64(g.pool.high())
		f.Bytes += g.bytes()
	}
	return f
}

// nominal is what the family's wanted number of buckets takes with three
// quarters of it as flows: about one overflow line for four home lines.
func (sd *side) nominal(linked bool) uint64 {
	if sd.first.Load() == nil {
		return 0
	}
	b := uint64(sd.want.Load())
	link := uint64(0)
	if linked {
		link = 8
	}
	if sd.v6 {
		return b*num6>>shift6*64 + b*3/4*(64+link)
	}
	return b * num4 >> shift4 * 5 / 4 * (64 + 40 + slots4*link)
}

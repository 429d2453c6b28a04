package flowtable

import (
	"runtime"
	"sync/atomic"
)

// Bounds of one eviction: the neighbouring buckets of DESIGN 7, and how many
// flows it looks at when chains are long.
const (
	evictBuckets = 8
	evictLook    = 64
)

// evict makes room for a flow of hash h in its own space: it removes a flow
// past its deadline, else the oldest NEW_SYN_RECV, else the oldest TIME_WAIT of
// the 8 buckets from h's own on. Oldest is the one whose deadline comes first:
// all flows of such a state live equally long.
func (s *Space) evict(sd *side, h uint32, now int64) bool {
	best, rank := entry{}, 0
	look := evictLook
	var last *line
	for j := range uint32(evictBuckets) {
		g := sd.first.Load()
		for atomic.LoadUint64(&g.lines[g.home(h+j)][0])&movedBit != 0 {
			g = g.next.Load()
		}
		l := &g.lines[g.home(h+j)]
		if l == last {
			continue
		}
		last = l
		sd.peekChain(g, g.home(h+j), &look, func(e *entry) {
			if !s.owns(e) || (s.hash(&e.key)-h)&g.mask >= evictBuckets {
				return
			}
			if r := evictRank(e, now); r > rank || r == rank && r > 0 && e.Deadline < best.Deadline {
				best, rank = *e, r
			}
		})
	}
	if rank == 0 {
		return false
	}
	_, ok := s.eraseKey(sd, &best.key, func(e *entry) bool {
		return e.owner == best.owner && e.State == best.State && e.Deadline == best.Deadline
	})
	if ok {
		s.t.stat.evicted.Add(1)
		if s.lim.OnEvict != nil {
			s.lim.OnEvict(best.Flow)
		}
	}
	return ok
}

// evictRank orders flows by how willingly they go; 0 stays.
func evictRank(e *entry, now int64) int {
	switch {
	case e.Deadline != 0 && now >= e.Deadline:
		return 3
	case e.State == NewSynRecv:
		return 2
	case e.State == TimeWait:
		return 1
	}
	return 0
}

// peekChain calls f for at most *look flows of a chain, read without taking it;
// what f sees may be torn, so the caller checks its choice again under the
// lock.
func (sd *side) peekChain(g *geom, li uint32, look *int, f func(*entry)) {
	home := &g.lines[li][0]
	w := atomic.LoadUint64(home)
	for lw := w; ; {
		for i := range g.slots {
			p := pos{li, i}
			if !g.used(lw, p) {
				continue
			}
			if *look == 0 {
				break
			}
			*look--
			e := sd.read(g, lw, p)
			f(&e)
		}
		if lw>>ovfShift == 0 || *look == 0 {
			break
		}
		li = g.ovf(lw)
		lw = atomic.LoadUint64(&g.lines[li][0])
		if atomic.LoadUint64(home) != w {
			break
		}
	}
	runtime.KeepAlive(g)
}

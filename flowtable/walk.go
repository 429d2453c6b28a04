package flowtable

import (
	"runtime"
	"sync/atomic"
)

// visit calls f for every chain of a family, held, wherever growth has brought
// it; f reports whether it changed it. For control threads.
func (sd *side) visit(f func(c *chain) bool) {
	if g := sd.first.Load(); g != nil {
		for li := range g.main {
			sd.visitLine(g, li, f)
		}
	}
}

func (sd *side) visitLine(g *geom, li uint32, f func(c *chain) bool) {
	c, ok := sd.lockLine(g, li)
	if ok {
		if f(&c) {
			c.unlock()
		} else {
			c.cancel()
		}
		return
	}
	to := g.next.Load()
	for j := li; j < to.main; j += g.main {
		sd.visitLine(to, j, f)
	}
}

// snapshot appends the flows of a chain as they were at one instant, without
// taking it, so that a control thread that is descheduled stops nobody. moved
// says that they are in the next geometry.
func (sd *side) snapshot(g *geom, li uint32, buf []entry) (out []entry, moved bool) {
	home := &g.lines[li][0]
	for n := 1; ; n++ {
		w := atomic.LoadUint64(home)
		if w&movedBit != 0 {
			return buf, true
		}
		if w&lockBit == 0 {
			out = sd.copyChain(g, li, w, buf)
			same := atomic.LoadUint64(home) == w
			runtime.KeepAlive(g)
			if same {
				return out, false
			}
		}
		if n%looked == 0 {
			runtime.Gosched()
		}
	}
}

// copyChain reads a chain until its home header is no longer w.
func (sd *side) copyChain(g *geom, li uint32, w uint64, buf []entry) []entry {
	home := &g.lines[li][0]
	for lw := w; ; {
		for i := range g.slots {
			if p := (pos{li, i}); g.used(lw, p) {
				buf = append(buf, sd.read(g, lw, p))
			}
		}
		if lw>>ovfShift == 0 {
			return buf
		}
		li = g.ovf(lw)
		lw = atomic.LoadUint64(&g.lines[li][0])
		if atomic.LoadUint64(home) != w {
			return buf
		}
	}
}

// each calls f with the flows of every chain of a family until it returns
// false.
func (sd *side) each(f func([]entry) bool) {
	g := sd.first.Load()
	if g == nil {
		return
	}
	buf := make([]entry, 0, 64)
	for li := range g.main {
		if !sd.eachLine(g, li, buf, f) {
			return
		}
	}
}

func (sd *side) eachLine(g *geom, li uint32, buf []entry, f func([]entry) bool) bool {
	out, moved := sd.snapshot(g, li, buf[:0])
	if !moved {
		return len(out) == 0 || f(out)
	}
	to := g.next.Load()
	for j := li; j < to.main; j += g.main {
		if !sd.eachLine(to, j, buf, f) {
			return false
		}
	}
	return true
}

// All calls f for every flow until it returns false, in no order. Flows that
// come or go meanwhile may be missed; flows that stay are seen once. Those past
// their deadline are included until they are swept. f may use the space.
func (s *Space) All(f func(Key, Flow) bool) {
	r := s.t.Reader()
	defer r.Close()
	for _, sd := range []*side{&s.t.v4, &s.t.v6} {
		more := true
		sd.each(func(l []entry) bool {
			for i := range l {
				if s.owns(&l[i]) && more {
					more = f(l[i].key, s.flow(&l[i], sd.v6))
				}
			}
			return more
		})
		if !more {
			return
		}
	}
}

func (s *Space) owns(e *entry) bool {
	owners := *s.t.owners.Load()
	return int(e.owner) < len(owners) && owners[e.owner].space == s
}

// purge removes the space's flows that f accepts, looking at the whole table,
// and returns how many there were and how many of them in TIME_WAIT.
func (s *Space) purge(sd *side, f func(*entry) bool) (n, tw int) {
	sd.each(func(l []entry) bool {
		for i := range l {
			if !s.owns(&l[i]) || !f(&l[i]) {
				continue
			}
			if st, ok := s.eraseKey(sd, &l[i].key, f); ok {
				n++
				if st == TimeWait {
					tw++
				}
			}
		}
		return true
	})
	return n, tw
}

// eraseKey removes one flow with key k that f accepts.
func (s *Space) eraseKey(sd *side, k *Key, f func(*entry) bool) (st State, ok bool) {
	c := sd.lockWait(s.hash(k))
	p := c.seek(func(p pos) bool {
		if !sd.sameKey(c.g, p, k) {
			return false
		}
		e := sd.read(c.g, c.hdr(p.li), p)
		st = e.State
		return s.owns(&e) && f(&e)
	})
	if p.i < 0 {
		c.cancel()
		return 0, false
	}
	s.erase(&c, p)
	c.unlock()
	return st, true
}

// DeleteSock removes every flow of a socket and returns their number. It looks
// at the whole table and is for control threads.
func (s *Space) DeleteSock(sock uint32) (n int) {
	r := s.t.Reader()
	defer r.Close()
	for _, sd := range []*side{&s.t.v4, &s.t.v6} {
		d, _ := s.purge(sd, func(e *entry) bool { return e.Sock == sock })
		n += d
	}
	return n
}

// Remove ends the space: its flows are gone when it returns, and inserts return
// ErrRemoved. In a shared table it follows the space's own lists, so that its
// cost does not depend on other spaces; only the first space of a table that
// was not declared shared has no lists and costs a look at every line. It
// returns how many flows there were and how many of them were in TIME_WAIT.
func (s *Space) Remove() (flows, timeWait int) {
	r := s.t.Reader()
	defer r.Close()
	s.removed.Store(true)
	for s.flows.Load() > 0 {
		for _, sd := range []*side{&s.t.v4, &s.t.v6} {
			n, tw := s.drain(sd)
			flows += n
			timeWait += tw
		}
		if s.flows.Load() > 0 {
			runtime.Gosched() // an insert that had begun
		}
	}
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	if s.t.spaces[s] {
		delete(s.t.spaces, s)
		s.t.dropOwners(s)
	}
	return flows, timeWait
}

// drain removes the space's flows of one family.
func (s *Space) drain(sd *side) (n, tw int) {
	any := func(*entry) bool { return true }
	if !s.listed {
		return s.purge(sd, any)
	}
	l := s.list(sd.v6)
	for v := l.front(); v != 0; v = l.front() {
		k, ok := sd.keyAt(v)
		if !ok {
			continue // it moved or went this instant
		}
		if st, ok := s.eraseKey(sd, &k, any); ok {
			n++
			if st == TimeWait {
				tw++
			}
		}
	}
	return n, tw
}

// keyAt reads the key of a listed flow, without any lock: it may be another
// flow's by now.
func (sd *side) keyAt(v uint32) (Key, bool) {
	if sd.v6 {
		return sd.record(v).decode().key, true
	}
	i := v & (linkMark - 1)
	for g := sd.first.Load(); g != nil; g = g.next.Load() {
		if g.id&1 == v>>31 {
			l := &g.lines[i/slots4]
			e1 := atomic.LoadUint64(&l[3+2*(i%slots4)])
			return key4(atomic.LoadUint64(&l[2+2*(i%slots4)]), uint32(e1>>32)), true
		}
	}
	return Key{}, false
}

// dropOwners frees the owner numbers of a space without flows. The caller
// holds t.mu.
func (t *Table) dropOwners(s *Space) {
	owners := append([]owner(nil), *t.owners.Load()...)
	for _, o := range *s.owners.Load() {
		owners[o] = owner{}
		t.freeOwn = append(t.freeOwn, o)
	}
	t.owners.Store(&owners)
}

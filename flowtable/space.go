package flowtable

import (
	"sync/atomic"
)

// Space is one VRF's flows in a table.
type Space struct {
	t       *Table
	vrf     string
	seed    Seed
	lim     Limits
	listed  bool   // its flows are in lists
	own0    uint32 // owner number of unbound flows
	owners  atomic.Pointer[map[uint32]uint32]
	removed atomic.Bool

	_     [64]byte
	flows atomic.Int64
	nsr   atomic.Int64
	tw    atomic.Int64
	gen   atomic.Uint32 // newest FIB generation stored
	_     [36]byte

	lists [2]flowList
}

// VRF returns the name given to Table.Space.
func (s *Space) VRF() string { return s.vrf }

// Seed returns the seed given to Table.Space.
func (s *Space) Seed() Seed { return s.seed }

// Table returns the table that the space lies in.
func (s *Space) Table() *Table { return s.t }

// Len returns the number of flows, those past their deadline included until
// they are swept.
func (s *Space) Len() int { return int(s.flows.Load()) }

// LenState returns the number of flows in a state, counted like Len.
func (s *Space) LenState(st State) int {
	nsr, tw := s.nsr.Load(), s.tw.Load()
	switch st {
	case NewSynRecv:
		return int(nsr)
	case TimeWait:
		return int(tw)
	}
	return int(s.flows.Load() - nsr - tw)
}

// side returns the part of the table that k lies in.
func (s *Space) side(k *Key) *side {
	if k.Is4() {
		return &s.t.v4
	}
	return &s.t.v6
}

// hash is the hash of a key of this space.
func (s *Space) hash(k *Key) uint32 {
	return s.t.cfg.Hasher.Sum(s.seed, k.Laddr, k.Faddr, k.Fport).Hash(k.Lport)
}

// owner returns the owner number for flows bound to bdi.
func (s *Space) owner(bdi uint32) (uint32, error) {
	if bdi == 0 {
		return s.own0, nil
	}
	if o, ok := (*s.owners.Load())[bdi]; ok {
		return o, nil
	}
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	if o, ok := (*s.owners.Load())[bdi]; ok {
		return o, nil
	}
	return s.t.newOwner(s, bdi)
}

// genCode packs a FIB generation for the IPv4 side, where it has 14 bits: its
// place in a cycle of genCodes, 0 when it is none or half a cycle old. Lookups
// that find a code of the newer half get the exact number back; sweeping turns
// codes of the older half into 0 before they could mean another generation.
func (s *Space) genCode(gen uint32) uint32 {
	if newest := s.gen.Load(); gen == 0 || newest-gen > genCodes/2 {
		return 0
	}
	return (gen-1)%genCodes + 1
}

// genOf is the inverse of genCode.
func (s *Space) genOf(code uint32) uint32 {
	newest := s.gen.Load()
	if code == 0 || newest == 0 {
		return 0
	}
	age := ((newest-1)%genCodes + 1 + genCodes - code) % genCodes
	if age > genCodes/2 || age >= newest {
		return 0
	}
	return newest - age
}

// sawGen raises the newest generation, and has old codes swept in time.
func (s *Space) sawGen(gen uint32) {
	for {
		newest := s.gen.Load()
		if gen == 0 || newest != 0 && int32(gen-newest) <= 0 {
			return
		}
		if s.gen.CompareAndSwap(newest, gen) {
			if gen/(genCodes/8) != newest/(genCodes/8) {
				s.t.v4.lap.regen.Store(true)
			}
			return
		}
	}
}

// flow completes a decoded entry into what callers see.
func (s *Space) flow(e *entry, v6 bool) Flow {
	f := e.Flow
	if e.owner != s.own0 {
		f.Bdi = (*s.t.owners.Load())[e.owner].bdi
	}
	if f.FibGen = e.gen; !v6 {
		f.FibGen = s.genOf(e.gen)
	}
	return f
}

// reserve counts a new flow; false when the space or the table is full.
func (s *Space) reserve(sd *side) bool {
	if uint64(s.flows.Add(1)) > s.lim.Flows {
		s.flows.Add(-1)
		return false
	}
	n := uint64(sd.count.Add(1))
	if other := s.t.v4.count.Load() + s.t.v6.count.Load(); n > sd.first.Load().flows || uint64(other) > s.t.cfg.Flows {
		sd.count.Add(-1)
		s.flows.Add(-1)
		return false
	}
	return true
}

func (s *Space) release(sd *side) {
	sd.count.Add(-1)
	s.flows.Add(-1)
}

// counted adds d to the count of a state other than ESTABLISHED; false when
// the limit of TIME_WAIT entries forbids it.
func (s *Space) counted(st State, d int64) bool {
	switch st {
	case NewSynRecv:
		s.nsr.Add(d)
	case TimeWait:
		if n := s.tw.Add(d); d > 0 && s.lim.TimeWait != 0 && uint64(n) > s.lim.TimeWait {
			s.tw.Add(-d)
			s.t.stat.twFull.Add(1)
			return false
		}
	}
	return true
}

// Insert adds a flow. h is the hash of k in this space. A flow with the same
// key and the same bound device that is not past its deadline is ErrExist.
// ErrFull (or ErrPass) may count flows past their deadline that were not swept
// yet; a caller that must not depend on that calls Table.Expire and tries again.
func (s *Space) Insert(h uint32, k *Key, f Flow, now int64) (Ref, error) {
	return s.insert(h, k, f, now, Dev{Dif: f.Bdi, Sdif: f.Bdi}, nil)
}

// insert is Insert with the rule for conflicts: a flow with the same key that
// takes packets of d is one, unless reuse says that it may be replaced.
func (s *Space) insert(h uint32, k *Key, f Flow, now int64, d Dev, reuse func(Flow) bool) (Ref, error) {
	sd := s.side(k)
	if sd.first.Load() == nil {
		if err := sd.open(); err != nil {
			return 0, err
		}
	}
	o, err := s.owner(f.Bdi)
	if err != nil {
		return 0, err
	}
	sd.help(now) // first, so that it does not move the new flow
	s.sawGen(f.FibGen)
	e := entry{key: *k, owner: o, Flow: f, gen: f.FibGen}
	if !sd.v6 {
		e.gen = s.genCode(f.FibGen)
	}
	ref, err := s.tryInsert(sd, h, &e, now, d, reuse)
	if err == ErrFull {
		switch s.lim.Full {
		case Evict:
			if s.evict(sd, h, now) {
				ref, err = s.tryInsert(sd, h, &e, now, d, reuse)
			}
		case Pass:
			s.t.stat.passed.Add(1)
			return 0, ErrPass
		}
		if err == ErrFull {
			s.t.stat.full.Add(1)
		}
	}
	return ref, err
}

// tryInsert is one attempt under the chain's lock.
func (s *Space) tryInsert(sd *side, h uint32, e *entry, now int64, d Dev, reuse func(Flow) bool) (Ref, error) {
	c, ok := sd.lock(h)
	if !ok {
		s.t.stat.contended.Add(1)
		return 0, ErrContended
	}
	if err := s.clash(&c, &e.key, now, d, reuse); err != nil {
		c.unlock()
		return 0, err
	}
	if !s.reserve(sd) {
		c.unlock()
		return 0, ErrFull
	}
	sd.lap.sawDl(e.Deadline)
	// Remove sets removed and then waits for the count to become zero.
	ref, err := Ref(0), ErrRemoved
	if !s.removed.Load() {
		if err = ErrTimeWaitFull; s.counted(e.State, 1) {
			if ref, err = s.add(&c, h, e); err != nil {
				s.counted(e.State, -1)
			}
		}
	}
	c.unlock()
	if err != nil {
		s.release(sd)
		return 0, err
	}
	return ref, nil
}

// clash looks for a flow that e must not be beside, and removes those with the
// same key that are past their deadline or may be reused.
func (s *Space) clash(c *chain, k *Key, now int64, d Dev, reuse func(Flow) bool) error {
	depth := uint32(0)
	for li := c.home; ; {
		w := c.hdr(li)
		for i := range c.g.slots {
			p := pos{li, i}
			if !c.g.used(w, p) {
				continue
			}
			if depth++; !c.sd.sameKey(c.g, p, k) {
				continue
			}
			o := (*s.t.owners.Load())[c.sd.owner(c.g, p)]
			if o.space != s || !d.Match(o.bdi) {
				continue
			}
			e := c.sd.read(c.g, w, p)
			if !c.sd.expired(c.g, w, p, now) && (reuse == nil || !reuse(s.flow(&e, c.g.v6))) {
				return ErrExist
			}
			s.erase(c, p)
			return s.clash(c, k, now, d, reuse)
		}
		if li = c.after(li); li == 0 {
			s.t.stat.sawDepth(depth + 1)
			return nil
		}
	}
}

// add stores a flow whose place has been reserved.
func (s *Space) add(c *chain, h uint32, e *entry) (Ref, error) {
	sd, rec := c.sd, uint32(0)
	if sd.v6 {
		if rec = sd.recPool.get(sd.recLink); rec == 0 {
			return 0, ErrFull
		}
	}
	p, ok := c.place(h, &e.key, s)
	if !ok {
		if rec != 0 {
			sd.recPool.put(rec, sd.recLink(rec-1))
		}
		return 0, ErrFull
	}
	if sd.v6 {
		c.g.setRec6(p, rec, tag6(h))
	}
	c.write(p, e)
	if s.listed {
		s.list(sd.v6).push(sd, c.link(p), c.linkWord(p))
	}
	return makeRef(c.g, h, e.owner, p), nil
}

func (sd *side) recLink(i uint32) *uint64 { return &sd.recs[i+1][recNext] }

// erase removes the flow in slot p.
func (s *Space) erase(c *chain, p pos) {
	st := c.sd.read(c.g, c.hdr(p.li), p).State
	s.forget(c, p, st)
	c.drop(p)
}

// forget takes the flow in slot p out of everything but its slot.
func (s *Space) forget(c *chain, p pos, st State) {
	sd := c.sd
	if s.listed {
		s.list(sd.v6).remove(sd, c.linkWord(p))
	}
	if sd.v6 {
		n := c.g.rec6(p)
		atomic.StoreUint64(&sd.record(n)[recOwner], 0)
		sd.recPool.put(n, sd.recLink(n-1))
	}
	s.counted(st, -1)
	s.release(sd)
}

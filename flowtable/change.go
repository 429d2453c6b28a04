package flowtable

// hold locks the chain of r and finds its slot, which holds k of this space.
func (s *Space) hold(r Ref, k *Key) (c chain, p pos, err error) {
	sd := s.side(k)
	if r == 0 || sd.v6 != (r&ref6 != 0) || sd.first.Load() == nil {
		return c, p, ErrGone
	}
	c, ok := sd.lock(r.hash())
	if !ok {
		s.t.stat.contended.Add(1)
		return c, p, ErrContended
	}
	if p, ok = s.slot(&c, r, k); !ok {
		c.cancel()
		return c, p, ErrGone
	}
	return c, p, nil
}

// slot finds the slot of r in its chain.
func (s *Space) slot(c *chain, r Ref, k *Key) (p pos, ok bool) {
	if c.g.v6 {
		n := r.rec()
		p = c.seek(func(p pos) bool { return c.g.rec6(p) == n })
		ok = p.i >= 0
	} else {
		var id uint32
		p, id = r.pos()
		// A line that has become part of another chain holds other keys.
		ok = id == c.g.id && c.g.used(c.hdr(p.li), p)
	}
	if !ok || !c.sd.sameKey(c.g, p, k) {
		return p, false
	}
	o := c.sd.owner(c.g, p)
	return p, s.t.space(o) == s && r.fits(s.hash(k), o)
}

// Update replaces everything but the key and the bound device of the flow at
// r; f.Bdi must be the flow's. A flow that turns
// TIME_WAIT where the space has as many as it may have is deleted instead,
// with ErrTimeWaitFull.
func (s *Space) Update(r Ref, k *Key, f Flow) error {
	o, err := s.owner(f.Bdi)
	if err != nil {
		return err
	}
	s.sawGen(f.FibGen)
	s.side(k).lap.sawDl(f.Deadline)
	c, p, err := s.hold(r, k)
	if err != nil {
		return err
	}
	if c.sd.owner(c.g, p) != o {
		c.cancel()
		return ErrGone
	}
	was := c.sd.read(c.g, c.hdr(p.li), p).State
	if was != f.State {
		if !s.counted(f.State, 1) {
			s.erase(&c, p)
			c.unlock()
			return ErrTimeWaitFull
		}
		s.counted(was, -1)
	}
	e := entry{key: *k, owner: o, Flow: f, gen: f.FibGen}
	if !c.sd.v6 {
		e.gen = s.genCode(f.FibGen)
	}
	c.write(p, &e)
	c.unlock()
	return nil
}

// Delete removes the flow at r.
func (s *Space) Delete(r Ref, k *Key) error {
	c, p, err := s.hold(r, k)
	if err != nil {
		return err
	}
	s.erase(&c, p)
	c.unlock()
	return nil
}

package flowtable

type entry struct {
	Flow
	ref Ref
}

// Space is one VRF's flows in a table.
type Space struct {
	t      *Table
	vrf    string
	seed   Seed
	lim    Limits
	m      map[Key][]entry
	refs   map[Ref]Key
	last   Ref
	states [numStates]int
}

func (s *Space) n() (n int) {
	for _, c := range s.states {
		n += c
	}
	return n
}

// VRF returns the name given to Table.Space.
func (s *Space) VRF() string { return s.vrf }

// Seed returns the seed given to Table.Space.
func (s *Space) Seed() Seed { return s.seed }

// Table returns the table that the space lies in.
func (s *Space) Table() *Table { return s.t }

// Prefetch brings the lines that Lookup of this hash reads into the cache.
func (s *Space) Prefetch(h uint32, v6 bool) {}

// Lookup finds the flow of k, whose hash is h, that takes packets of d at time
// now. Of several flows with k bound to different devices the newest one that
// matches wins, as in Linux. It takes no lock.
func (s *Space) Lookup(h uint32, k *Key, d Dev, now int64) Ref {
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	for _, e := range s.m[*k] {
		if d.Match(e.Bdi) && (e.Deadline == 0 || now < e.Deadline) {
			return e.ref
		}
	}
	return 0
}

// LookupBurst looks k[i] up for every i, prefetching ahead, stores the results
// in refs and returns the number of hits. h, k and refs have one length.
func (s *Space) LookupBurst(h []uint32, k []Key, d Dev, now int64, refs []Ref) (hits int) {
	for i := range k {
		if refs[i] = s.Lookup(h[i], &k[i], d, now); refs[i] != 0 {
			hits++
		}
	}
	return hits
}

func (s *Space) find(r Ref) (Key, int) {
	k, ok := s.refs[r]
	if ok {
		for i, e := range s.m[k] {
			if e.ref == r {
				return k, i
			}
		}
	}
	return k, -1
}

// Get returns the flow at r, false when it is gone.
func (s *Space) Get(r Ref) (Flow, bool) {
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	k, i := s.find(r)
	if i < 0 {
		return Flow{}, false
	}
	return s.m[k][i].Flow, true
}

// Sock returns the socket of the flow at r, 0 when it is gone.
func (s *Space) Sock(r Ref) uint32 {
	f, _ := s.Get(r)
	return f.Sock
}

// Insert adds a flow. h is the hash of k in this space. A flow with the same
// key and the same bound device that is not past its deadline is ErrExist.
func (s *Space) Insert(h uint32, k *Key, f Flow, now int64) (Ref, error) {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	for i, e := range s.m[*k] {
		if e.Bdi == f.Bdi {
			if e.Deadline == 0 || now < e.Deadline {
				return 0, ErrExist
			}
			s.drop(*k, i)
			break
		}
	}
	if s.lim.Flows != 0 && uint64(s.n()) >= s.lim.Flows {
		if s.lim.Full == Pass {
			return 0, ErrPass
		}
		return 0, ErrFull
	}
	s.last++
	s.m[*k] = append([]entry{{f, s.last}}, s.m[*k]...)
	s.refs[s.last] = *k
	s.states[f.State]++
	return s.last, nil
}

// Update replaces everything but the key of the flow at r.
func (s *Space) Update(r Ref, k *Key, f Flow) error {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	kk, i := s.find(r)
	if i < 0 || kk != *k {
		return ErrGone
	}
	s.states[s.m[kk][i].State]--
	s.states[f.State]++
	s.m[kk][i].Flow = f
	return nil
}

// Delete removes the flow at r.
func (s *Space) Delete(r Ref, k *Key) error {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	kk, i := s.find(r)
	if i < 0 || kk != *k {
		return ErrGone
	}
	s.drop(kk, i)
	return nil
}

func (s *Space) drop(k Key, i int) {
	e := s.m[k][i]
	s.states[e.State]--
	delete(s.refs, e.ref)
	l := append(append([]entry{}, s.m[k][:i]...), s.m[k][i+1:]...)
	if len(l) == 0 {
		delete(s.m, k)
		return
	}
	s.m[k] = l
}

// Remove ends the space: its flows are gone when it returns, at a cost that
// depends on their number only. It returns how many there were and how many of
// them were in TIME_WAIT.
func (s *Space) Remove() (flows, timeWait int) {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	flows, timeWait = s.n(), s.states[TimeWait]
	s.m, s.refs, s.states = map[Key][]entry{}, map[Ref]Key{}, [numStates]int{}
	delete(s.t.spaces, s)
	return flows, timeWait
}

// Len returns the number of flows, those past their deadline included until
// they are swept.
func (s *Space) Len() int {
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	return s.n()
}

// LenState returns the number of flows in a state, counted like Len.
func (s *Space) LenState(st State) int {
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	return s.states[st]
}

// All calls f for every flow until it returns false, in no order. Flows that
// come or go meanwhile may be missed; flows that stay are seen once.
func (s *Space) All(f func(Key, Flow) bool) {
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	for k, l := range s.m {
		for _, e := range l {
			if !f(k, e.Flow) {
				return
			}
		}
	}
}

// DeleteSock removes every flow of a socket and returns their number.
func (s *Space) DeleteSock(sock uint32) (n int) {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	for k := range s.m {
		for i := 0; i < len(s.m[k]); i++ {
			if s.m[k][i].Sock == sock {
				s.drop(k, i)
				i--
				n++
			}
		}
	}
	return n
}

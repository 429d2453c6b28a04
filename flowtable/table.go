package flowtable

import (
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
)

// Config describes a table.
type Config struct {
	Name    string  // in errors and statistics: "tcp", "red/udp"
	Buckets uint32  // start size, power of two, MinBuckets..MaxBuckets
	Max     uint32  // largest size, power of two; equal to Buckets: fixed, chains lengthen
	Flows   uint64  // most flows of all spaces together; 0: Max
	Hasher  *Hasher // the one that computes the hashes callers pass
	Pages   string  // PagesAuto, Pages4K or Pages2M
	Shared  bool    // several spaces are expected: list the flows of the first one too
	Inline  bool    // grow on the calling thread, at the same insert in every run, instead of in the background
}

// Table holds the flows of one protocol, of one VRF or of several.
type Table struct {
	cfg    Config
	v4, v6 side

	owners atomic.Pointer[[]owner]

	mu      sync.Mutex // spaces, owners, allocation of geometries
	spaces  map[*Space]bool
	freeOwn []uint32
	linked  bool // flows are listed, see flowList
	err     error

	rmu      sync.Mutex
	readers  []*Reader
	retired  atomic.Uint32 // geometries whose readers have gone
	unmapped atomic.Uint32 // those of them whose memory has
	epoch    atomic.Uint64
	closed   chan struct{}
	wg       sync.WaitGroup

	stat counters
}

// owner is what the owner number of a flow stands for.
type owner struct {
	space *Space
	bdi   uint32
}

// New returns a table of the start size. The memory of the second family
// comes with its first flow.
func New(c Config) (*Table, error) {
	fail := func(f string, a ...any) (*Table, error) {
		return nil, fmt.Errorf("flow table %s: "+f, append([]any{c.Name}, a...)...)
	}
	if c.Flows == 0 {
		c.Flows = uint64(c.Max)
	}
	switch {
	case c.Hasher == nil:
		return fail("no hasher")
	case bits.OnesCount32(c.Buckets) != 1 || c.Buckets < MinBuckets || c.Buckets > MaxBuckets:
		return fail("%d buckets: not a power of two from %d to %d", c.Buckets, MinBuckets, MaxBuckets)
	case bits.OnesCount32(c.Max) != 1 || c.Max < c.Buckets || c.Max > MaxBuckets:
		return fail("%d buckets at most: not a power of two from the start size to %d", c.Max, MaxBuckets)
	case c.Flows > slots4*maxOvf:
		return fail("%d flows: more than %d", c.Flows, slots4*maxOvf)
	}
	t := &Table{cfg: c, spaces: map[*Space]bool{}, linked: c.Shared, closed: make(chan struct{})}
	t.epoch.Store(1)
	t.owners.Store(&[]owner{{}})
	t.v4.lap.minDl.Store(noDeadline)
	t.v6.lap.minDl.Store(noDeadline)
	t.v4.t, t.v6.t, t.v6.v6 = t, t, true
	t.v4.want.Store(c.Buckets)
	t.v6.want.Store(c.Buckets)
	if err := t.v4.open(); err != nil {
		return nil, err
	}
	return t, nil
}

// open allocates the first geometry of a family.
func (sd *side) open() error {
	t := sd.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if sd.first.Load() != nil {
		return nil
	}
	if sd.v6 {
		n := t.cfg.Flows + 2
		r, err := newRegion(t.cfg.Name+": IPv6 flows", 0, n*64, t.cfg.Pages)
		if err != nil {
			return err
		}
		sd.recMem = append(sd.recMem, r)
		sd.recs = view[line](r, n)
		sd.recPool.init(uint32(n - 2))
	}
	g, err := sd.alloc(t.cfg.Buckets, 0)
	if err == nil && t.linked {
		err = sd.addLinks()
	}
	if err != nil {
		sd.freeRecs()
		return err
	}
	sd.first.Store(g)
	return nil
}

func (sd *side) freeRecs() {
	for _, r := range sd.recMem {
		r.free()
	}
	sd.recMem, sd.recs = nil, nil
}

// alloc makes a geometry, with links in a shared table. The caller holds t.mu.
func (sd *side) alloc(buckets, id uint32) (*geom, error) {
	c := &sd.t.cfg
	// Every size can hold all flows: an allocation that fails or is late makes
	// chains longer, never an insert impossible. The reserve costs addresses.
	g, err := newGeom(c, sd.v6, buckets, c.Flows, id)
	if err == nil && sd.t.linked && !sd.v6 {
		err = g.addLinks(c)
	}
	if err != nil && g != nil {
		g.free()
	}
	return g, err
}

func (g *geom) addLinks(c *Config) error {
	if g.links.Load() != nil {
		return nil
	}
	n := uint64(len(g.lines)) * slots4
	r, err := newRegion(c.Name+": lists", uint64(g.main)*slots4*8, n*8-uint64(g.main)*slots4*8, c.Pages)
	if err != nil {
		return err
	}
	g.mem = append(g.mem, r)
	l := view[uint64](r, n)
	g.links.Store(&l)
	return nil
}

// addLinks gives every flow of the family a link word. The caller holds t.mu.
func (sd *side) addLinks() error {
	if sd.v6 {
		if sd.recs == nil || sd.links.Load() != nil {
			return nil
		}
		n := uint64(len(sd.recs))
		r, err := newRegion(sd.t.cfg.Name+": lists", 0, n*8, sd.t.cfg.Pages)
		if err != nil {
			return err
		}
		sd.recMem = append(sd.recMem, r)
		l := view[uint64](r, n)
		sd.links.Store(&l)
		return nil
	}
	for g := sd.first.Load(); g != nil; g = g.next.Load() {
		if err := g.addLinks(&sd.t.cfg); err != nil {
			return err
		}
	}
	return nil
}

// Space opens one VRF's part of the table. seed must come from the table's
// hasher. The first space owns the table; from the second on the table is
// shared, and every flow costs a list entry of 8 bytes a slot.
func (t *Table) Space(vrf string, seed Seed, lim Limits) (*Space, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.spaces) > 0 && !t.linked {
		t.linked = true
		if err := errors.Join(t.v4.addLinks(), t.v6.addLinks()); err != nil {
			return nil, err
		}
	}
	if lim.Flows == 0 || lim.Flows > t.cfg.Flows {
		lim.Flows = t.cfg.Flows
	}
	s := &Space{t: t, vrf: vrf, seed: seed, lim: lim, listed: t.linked}
	s.owners.Store(&map[uint32]uint32{})
	var err error
	if s.own0, err = t.newOwner(s, 0); err != nil {
		return nil, err
	}
	t.spaces[s] = true
	return s, nil
}

// newOwner numbers a pair of space and bound device. The caller holds t.mu.
func (t *Table) newOwner(s *Space, bdi uint32) (uint32, error) {
	old := *t.owners.Load()
	var id uint32
	if n := len(t.freeOwn); n > 0 {
		id = t.freeOwn[n-1]
		t.freeOwn = t.freeOwn[:n-1]
		old = append([]owner(nil), old...)
		old[id] = owner{s, bdi}
	} else {
		if id = uint32(len(old)); id > ownerMask {
			return 0, fmt.Errorf("flow table %s: more than %d pairs of VRF and device", t.cfg.Name, ownerMask)
		}
		old = append(old, owner{s, bdi})
	}
	t.owners.Store(&old)
	m := map[uint32]uint32{bdi: id}
	for k, v := range *s.owners.Load() {
		m[k] = v
	}
	s.owners.Store(&m)
	return id, nil
}

// space returns the space of an owner number, never nil for that of a flow.
func (t *Table) space(o uint32) *Space { return (*t.owners.Load())[o].space }

// Close gives the memory back. No other call may run or follow.
func (t *Table) Close() {
	close(t.closed)
	t.wg.Wait()
	for _, sd := range []*side{&t.v4, &t.v6} {
		for g := sd.first.Load(); g != nil; g = g.next.Load() {
			g.free()
		}
		sd.first.Store(nil)
		sd.freeRecs()
	}
}

package bench

import (
	"fmt"

	"edemux/flowtable"
)

// maxTableBuckets is the size to which tables of the benchmarks may grow: at
// 16 Mi flows a load of one, the most that a table is meant for.
const maxTableBuckets = 1 << 24

// ehash is a flow table as the dataplane uses it.
type ehash[K comparable] struct {
	*holder[K]
	t     *flowtable.Table
	s     *flowtable.Space
	hs    *flowtable.Hasher
	seed  flowtable.Seed
	stats flowtable.FamilyStats
}

// secretOf makes a hash secret of a seed.
func secretOf(seed uint64) (s flowtable.Secret) {
	for i := range s {
		s[i] = byte(seed>>(8*(i&7))) + byte(i) + 1
	}
	return s
}

// ehashHolder fills a flow table that grows from 1024 buckets.
func ehashHolder[K comparable](n int, v6 bool, seed uint64) (*ehash[K], error) {
	hs := flowtable.NewHasher(secretOf(seed))
	t, err := flowtable.New(flowtable.Config{
		Name: "bench", Buckets: 1024, Max: maxTableBuckets, Flows: uint64(n) + 1<<17, Hasher: hs, Inline: true,
	})
	if err != nil {
		return nil, err
	}
	e := &ehash[K]{t: t, hs: hs, seed: hs.Seed("default")}
	if e.s, err = t.Space("default", e.seed, flowtable.Limits{}); err == nil {
		err = e.fill(n, v6)
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	all := t.Stats()
	if e.stats = all.V4; v6 {
		e.stats = all.V6
	}
	e.holder = &holder[K]{
		name: "ehash", bytes: float64(e.stats.Bytes) / float64(n), load: float64(n) / float64(e.stats.Buckets), pages: e.stats.Pages,
		lookup: e.lookup, put: e.put, drop: e.drop, shared: true, close: t.Close,
	}
	return e, nil
}

func (e *ehash[K]) hash(k *flowtable.Key) uint32 {
	return e.hs.Sum(e.seed, k.Laddr, k.Faddr, k.Fport).Hash(k.Lport)
}

// fill inserts the flows and lets growth come to its end.
func (e *ehash[K]) fill(n int, v6 bool) error {
	r := e.t.Reader()
	defer r.Close()
	for i := range n {
		k := keyAt(uint32(i), v6)
		if _, err := e.s.Insert(e.hash(&k), &k, flowtable.Flow{Sock: uint32(i) + 1}, 0); err != nil {
			return fmt.Errorf("flow %d of %d: %w", i, n, err)
		}
		r.Quiescent()
	}
	for e.t.Step(1<<20, 0).Moved > 0 {
		r.Quiescent()
	}
	return nil
}

func (e *ehash[K]) lookup(l *keys[K], at, n int) (hits int) {
	var h [burst]uint32
	var refs [burst]flowtable.Ref
	var socks [burst]uint32
	for end := at + n; at < end; at += burst {
		k := l.full[at : at+burst]
		for i := range k {
			h[i] = e.hash(&k[i])
		}
		hits += e.s.LookupBurst(h[:], k, flowtable.Dev{}, 0, refs[:], socks[:])
	}
	return hits
}

func (e *ehash[K]) put(l *keys[K], i int) {
	k := &l.full[i]
	if _, err := e.s.Insert(e.hash(k), k, flowtable.Flow{Sock: 1}, 0); err != nil {
		panic("bench table: insert: " + err.Error())
	}
}

// drop finds the flow and deletes it.
func (e *ehash[K]) drop(l *keys[K], i int) {
	k := &l.full[i]
	if err := e.s.Delete(e.s.Lookup(e.hash(k), k, flowtable.Dev{}, 0), k); err != nil {
		panic("bench table: delete: " + err.Error())
	}
}

// gatherHolder is the ceiling beside e: the lines that lookups read at normal
// load, on the same pages.
func gatherHolder[K comparable](e *ehash[K]) (*holder[K], error) {
	records := uint64(0)
	if e.t.Stats().V6.Flows > 0 {
		records = e.stats.Flows
	}
	g, err := newGather(e.hs, e.seed, e.stats.Lines, records, e.stats.Pages)
	if err != nil {
		return nil, err
	}
	per := float64(e.stats.Lines+records) * 64 / float64(e.stats.Flows)
	return &holder[K]{
		name: "gather", bytes: per, pages: g.pages, shared: true, hitOnly: true, close: g.close,
		lookup: func(l *keys[K], at, n int) int {
			sum := uint64(0)
			for end := at + n; at < end; at += burst {
				sum += g.burst(l.full[at : at+burst])
			}
			g.sum.Store(sum)
			return n
		},
	}, nil
}

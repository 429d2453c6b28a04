package flowtable

import (
	"errors"
	"sync"
)

// Config describes a table.
type Config struct {
	Name    string  // in errors and statistics: "tcp", "red/udp"
	Buckets uint32  // start size, power of two
	Max     uint32  // largest size, power of two; equal to Buckets: fixed, chains lengthen
	Flows   uint64  // most flows of all spaces; 0: Max
	Hasher  *Hasher // the one that computes the hashes callers pass
}

// Table holds the flows of one protocol, of one VRF or of several.
type Table struct {
	cfg    Config
	mu     sync.RWMutex
	spaces map[*Space]bool
}

// New returns a table.
func New(c Config) (*Table, error) {
	if c.Hasher == nil {
		return nil, errors.New("flow table " + c.Name + ": no hasher")
	}
	return &Table{cfg: c, spaces: map[*Space]bool{}}, nil
}

// Close gives the memory back. No other call may run or follow.
func (t *Table) Close() {}

// Reader is one thread's registration, see the package comment.
type Reader struct{}

// Reader registers the calling thread.
func (t *Table) Reader() *Reader { return &Reader{} }

// Quiescent says that the thread holds no Ref that it will use again.
func (r *Reader) Quiescent() {}

// Close ends the registration.
func (r *Reader) Close() {}

// Stats describes a table.
type Stats struct {
	Name           string
	Buckets        uint32 // current size
	Start, Max     uint32
	Flows          uint64 // entries held, those past their deadline included
	ByState        [numStates]uint64
	Bytes          uint64 // memory of the table
	Pages          string // "4k", "2M", "heap"
	Growing        bool
	Expired        uint64 // entries swept
	LagNs          int64  // how far the oldest unswept entry is past its deadline, as last seen
	MaxDepth       uint32 // longest chain seen by an insert (entries)
	Full, Evicted  uint64
	Passed         uint64
	TimeWaitFull   uint64
	Contended      uint64
	Spaces, Shared int
}

// Stats returns a snapshot.
func (t *Table) Stats() Stats {
	t.mu.RLock()
	defer t.mu.RUnlock()
	s := Stats{Name: t.cfg.Name, Buckets: t.cfg.Buckets, Start: t.cfg.Buckets, Max: t.cfg.Max, Pages: "heap"}
	for sp := range t.spaces {
		s.Flows += uint64(sp.n())
	}
	return s
}

// Work is what a Step did.
type Work struct{ Moved, Swept, Expired int }

// Step moves at most budget entries of a growing table and looks at as many
// for expiry. lcores call it between bursts; any number may.
func (t *Table) Step(budget int, now int64) (w Work) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for s := range t.spaces {
		for k, l := range s.m {
			for i := 0; i < len(l); i++ {
				if l[i].Deadline != 0 && now >= l[i].Deadline {
					s.drop(k, i)
					l, i = s.m[k], i-1
					w.Expired++
				}
			}
		}
	}
	return w
}

// Space opens one VRF's part of the table. The first space of a table owns it;
// with more than one the table is shared.
func (t *Table) Space(vrf string, seed Seed, lim Limits) (*Space, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &Space{t: t, vrf: vrf, seed: seed, lim: lim, m: map[Key][]entry{}, refs: map[Ref]Key{}}
	t.spaces[s] = true
	return s, nil
}

package control

import (
	"net/http"
	"sync"
	"time"

	"edemux/dataplane"
	"edemux/dataplane/port"
)

// Snapshots that are kept, so that several answers can show the same counts,
// and how often one may be taken: each costs every lcore a copy of its counters.
const (
	keptSnapshots = 64
	minInterval   = time.Millisecond
)

// snapshots takes and keeps snapshots.
type snapshots struct {
	mu   sync.Mutex
	ids  uint64
	kept [keptSnapshots]*Snapshot
	last time.Time // when the latest was begun
	base *raw      // since clear counters; nil: since the start
	old  [2]*raw   // of the sampler, the latest last
}

// raw is what a snapshot is built from.
type raw struct {
	at     time.Time
	lcores []*dataplane.Counters
	sum    *dataplane.Counters
	queues [][]port.QueueStats // by port
	info   []port.Info         // by port
}

// Snapshot returns the snapshot with this id, for 0 one that is taken after the
// call began.
func (s *State) Snapshot(id uint64) (*Snapshot, error) {
	if id == 0 {
		return s.snaps.take(s), nil
	}
	s.snaps.mu.Lock()
	defer s.snaps.mu.Unlock()
	if n := s.snaps.kept[id%keptSnapshots]; n != nil && n.Snapshot == id {
		return n, nil
	}
	return nil, errorf(http.StatusGone, CodeGone, "snapshot %d is not kept: the last %d are", id, keptSnapshots)
}

// take takes a snapshot, or returns one that another caller took after this one
// asked.
func (n *snapshots) take(s *State) *Snapshot {
	asked := time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ids > 0 && n.last.After(asked) {
		return n.kept[n.ids%keptSnapshots]
	}
	return n.fresh(s, nil)
}

// fresh takes a snapshot from r, or anew. Under mu.
func (n *snapshots) fresh(s *State, r *raw) *Snapshot {
	if r == nil {
		if wait := minInterval - time.Since(n.last); wait > 0 {
			time.Sleep(wait)
		}
		n.last = time.Now()
		r = s.read()
	}
	n.ids++
	b := builder{State: s, raw: r.since(n.base), rate: n.rateBase(r), all: r}
	snap := b.build(n.ids)
	n.kept[n.ids%keptSnapshots] = snap
	return snap
}

// rateBase is the sample that rates are computed against: the latest that is
// old enough.
func (n *snapshots) rateBase(r *raw) *raw {
	var oldest *raw
	for i := len(n.old) - 1; i >= 0; i-- {
		if o := n.old[i]; o != nil && o != r {
			oldest = o
			if r.at.Sub(o.at) >= 900*time.Millisecond {
				return o
			}
		}
	}
	return oldest
}

// sampled takes the snapshot of the second.
func (n *snapshots) sampled(s *State) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = time.Now()
	r := s.read()
	n.old[0], n.old[1] = n.old[1], r
	n.fresh(s, r)
}

// clear makes later snapshots count from now.
func (n *snapshots) clear(s *State) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := &raw{at: time.Now(), sum: new(dataplane.Counters)}
	s.readPorts(r) // before the lcores: a queue has never given less than was decided
	s.readLcores(r)
	n.base = r
}

// read copies what every lcore and port has counted.
func (s *State) read() *raw {
	r := &raw{at: time.Now(), sum: new(dataplane.Counters)}
	s.readLcores(r)
	s.readPorts(r)
	return r
}

func (s *State) readLcores(r *raw) {
	for _, l := range s.o.Runtime.Lcores() {
		c, _ := l.Lcore.Snapshot()
		r.lcores = append(r.lcores, c)
		r.sum.Add(c)
	}
}

func (s *State) readPorts(r *raw) {
	for _, p := range s.o.Runtime.Ports() {
		var qs []port.QueueStats
		for _, q := range p.Queues() {
			qs = append(qs, q.Stats())
		}
		r.queues = append(r.queues, qs)
		r.info = append(r.info, p.Info())
	}
}

// since returns r with base taken away.
func (r *raw) since(base *raw) *raw {
	if base == nil {
		return r
	}
	n := &raw{at: r.at, sum: new(dataplane.Counters)}
	for i, c := range r.lcores {
		c = c.Clone()
		if i < len(base.lcores) {
			c.Sub(base.lcores[i])
		}
		n.lcores = append(n.lcores, c)
		n.sum.Add(c)
	}
	for i, qs := range r.queues {
		cut := append([]port.QueueStats(nil), qs...)
		info := r.info[i]
		if i < len(base.queues) {
			for j := range cut {
				cut[j].Frames -= base.queues[i][j].Frames
				cut[j].Bytes -= base.queues[i][j].Bytes
				cut[j].Stalled -= base.queues[i][j].Stalled
			}
			info = info.Sub(base.info[i])
		}
		n.queues = append(n.queues, cut)
		n.info = append(n.info, info)
	}
	return n
}

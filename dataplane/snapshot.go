package dataplane

import (
	"sync"
	"sync/atomic"
)

// snapshotCell hands copies of an lcore's counters to control threads. The
// lcore pays one load per burst; when somebody asked it copies, between two
// bursts, so every snapshot is of whole packets and conservation holds in it.
type snapshotCell struct {
	asked  atomic.Uint32
	mu     sync.Mutex // one asker at a time
	copied chan *Counters
	idle   atomic.Bool // the lcore does not run: its counters lie still
}

func (s *snapshotCell) init() {
	s.copied = make(chan *Counters, 1)
	s.idle.Store(true)
}

// serve is called by the lcore between bursts.
func (s *snapshotCell) serve(c *Counters) {
	if s.asked.Load() == 0 {
		return
	}
	if s.asked.CompareAndSwap(1, 0) {
		s.copied <- c.Clone()
	}
}

// take returns a copy of c as of a burst boundary.
func (s *snapshotCell) take(c *Counters) *Counters {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle.Load() {
		return c.Clone()
	}
	s.asked.Store(1)
	return <-s.copied
}

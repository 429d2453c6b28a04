package dataplane

import (
	"sync"
	"sync/atomic"
	"time"
)

// snapshotCell hands copies of an lcore's counters to control threads. The
// lcore pays one load per burst; when somebody asked it copies, between two
// bursts, into memory that the asker brought: every snapshot is of whole
// packets, conservation holds in it, and asking makes the lcore allocate
// nothing.
type snapshotCell struct {
	want    atomic.Pointer[Counters] // where to copy to; nil: nobody asks
	copied  chan bool                // whether it fitted
	running atomic.Bool              // between Start and Stop; else the counters lie still
	mu      sync.Mutex               // one asker at a time
	last    *Counters                // the latest copy, under mu
}

// answerTime is how long an asker waits for a burst to end. A thread that does
// not come by in that time is not polling; the latest copy must do.
const answerTime = 2 * time.Second

func (s *snapshotCell) init() { s.copied = make(chan bool, 1) }

// serve is called by the lcore between bursts.
func (s *snapshotCell) serve(c *Counters) {
	dst := s.want.Load()
	if dst == nil || !s.want.CompareAndSwap(dst, nil) {
		return
	}
	s.copied <- dst.copyFrom(c)
}

// take returns a copy of c as of a burst boundary. shape returns counters with
// room for everything that exists now. fresh is false when the lcore did not
// answer and an older copy had to do.
func (s *snapshotCell) take(c *Counters, shape func() *Counters) (n *Counters, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.running.Load() {
		dst := shape()
		switch s.ask(dst) {
		case askCopied:
			s.last = dst
			return dst, true
		case askLate:
			if s.last == nil {
				s.last = dst
			}
			return s.last.Clone(), false
		}
	}
	s.last = c.Clone()
	return s.last.Clone(), true
}

type askResult uint8

const (
	askAgain askResult = iota // stopped meanwhile, or the room was too small
	askCopied
	askLate
)

func (s *snapshotCell) ask(dst *Counters) askResult {
	s.want.Store(dst)
	if !s.running.Load() && s.want.CompareAndSwap(dst, nil) {
		return askAgain
	}
	late := time.NewTimer(answerTime)
	defer late.Stop()
	select {
	case ok := <-s.copied:
		if ok {
			return askCopied
		}
		return askAgain
	case <-late.C:
		if s.want.CompareAndSwap(dst, nil) {
			return askLate
		}
		<-s.copied
		return askAgain
	}
}

// copyFrom copies o into the room of c. False: o has more of something.
func (c *Counters) copyFrom(o *Counters) bool {
	if len(o.VRFs) > len(c.VRFs) || len(o.Ports) > len(c.Ports) || len(o.Workers) > len(c.Workers) || len(o.Groups) > len(c.Groups) {
		return false
	}
	for i := range o.Groups {
		if len(o.Groups[i].Selected) > len(c.Groups[i].Selected) {
			return false
		}
	}
	vrfs, ports, workers, groups := c.VRFs, c.Ports, c.Workers, c.Groups
	*c = *o
	c.VRFs, c.Ports, c.Workers, c.Groups = vrfs, ports, workers, groups
	copy(vrfs, o.VRFs)
	copy(ports, o.Ports)
	copy(workers, o.Workers)
	for i := range o.Groups {
		copy(groups[i].Selected, o.Groups[i].Selected)
		groups[i].By = o.Groups[i].By
	}
	return true
}

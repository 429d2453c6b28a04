package dataplane

import "math/bits"

// NFill is the number of burst sizes that are told apart: 1, 2, 3..4, 5..8 and
// so on up to 33..64.
const NFill = 7

// PollCounters are what the polling loop knows of itself. Only its thread
// writes them, through Lcore.Poll.
type PollCounters struct {
	BusyNs, IdleNs, Naps uint64
	Fill                 [NFill]uint64 // bursts by size
	// Largest times between two polls that no nap explains, ns: since the start,
	// in the running window and in the window before it.
	MaxGapNs, GapNow, GapLast uint64
}

// Took counts a burst of n frames.
func (p *PollCounters) Took(n int) { p.Fill[bits.Len(uint(n-1))]++ }

// Gap records the time between two polls.
func (p *PollCounters) Gap(ns uint64) {
	p.GapNow = max(p.GapNow, ns)
	p.MaxGapNs = max(p.MaxGapNs, ns)
}

func (p *PollCounters) add(o *PollCounters) {
	p.BusyNs += o.BusyNs
	p.IdleNs += o.IdleNs
	p.Naps += o.Naps
	addTo(p.Fill[:], o.Fill[:])
	p.MaxGapNs = max(p.MaxGapNs, o.MaxGapNs)
	p.GapNow = max(p.GapNow, o.GapNow)
	p.GapLast = max(p.GapLast, o.GapLast)
}

// Start says that a thread polls from now on: it will come by between bursts to
// answer whoever asks for the counters. Without Start the counters are taken to
// lie still.
func (l *Lcore) Start() {
	for _, r := range l.readers {
		r.Quiescent()
	}
	l.snap.mu.Lock() // whoever copies counters at rest is done then
	defer l.snap.mu.Unlock()
	if l.rec != nil {
		l.rec.mu.Lock()
		defer l.rec.mu.Unlock()
	}
	l.snap.running.Store(true)
}

// Stop ends what Start began, also after a panic. The lcore holds up no memory
// of the tables from then on.
func (l *Lcore) Stop() {
	for _, r := range l.readers {
		r.Pause()
	}
	l.snap.running.Store(false)
	l.snap.serve(&l.c)
	l.rec.serve()
}

// Idle takes the place of Walk when a poll brought nothing.
func (l *Lcore) Idle(now int64) {
	if st := l.e.state.Load(); st != l.st {
		l.adopt(st)
	}
	if now > l.now {
		l.advance(now)
	}
	l.c.EmptyPolls++
	l.end()
}

// Poll is where the polling loop counts. Its thread only.
func (l *Lcore) Poll() *PollCounters { return &l.c.Poll }

// Running reports whether the lcore is between Start and Stop. Any thread.
func (l *Lcore) Running() bool { return l.snap.running.Load() }

// Epoch is the epoch of the state that the lcore uses. Any thread.
func (l *Lcore) Epoch() uint64 { return l.epoch.Load() }

// Snapshot returns a copy of the lcore's counters as of a burst boundary. fresh
// is false when the thread did not come by for two seconds and the copy is an
// older one. Control threads.
func (l *Lcore) Snapshot() (c *Counters, fresh bool) {
	return l.snap.take(&l.c, func() *Counters {
		n := new(Counters)
		n.grow(l.e.state.Load())
		return n
	})
}

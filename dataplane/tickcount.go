package dataplane

import "sync/atomic"

// tick is the grain of countable effects of time: 100 ms.
const tick = 100e6

// ringTicks covers the longest fixed life time (63 s) with room to spare.
const ringTicks = 1024

// tickCount counts live entries whose deadlines lie within ringTicks ticks,
// and lets them lapse tick by tick without touching the entries: one counter
// per tick of expiry. Exact and deterministic, whatever sweeps do meanwhile.
//
// Words are atomic: in run several lcores count into one.
type tickCount struct {
	live atomic.Int64
	at   atomic.Int64 // last tick that lapsed
	ring [ringTicks]atomic.Int32
}

// advance lapses every entry whose deadline is at or before now.
func (t *tickCount) advance(now int64) {
	to := now / tick
	at := t.at.Load()
	for at < to && !t.at.CompareAndSwap(at, to) {
		at = t.at.Load()
	}
	for n := max(at, to-ringTicks) + 1; n <= to; n++ {
		t.live.Add(-int64(t.ring[n%ringTicks].Swap(0)))
	}
}

// slot is the counter that a deadline lapses with: the first tick at which it
// has passed. nil when that tick is over.
func (t *tickCount) slot(deadline int64) *atomic.Int32 {
	n := (deadline + tick - 1) / tick
	if n <= t.at.Load() {
		return nil
	}
	return &t.ring[n%ringTicks]
}

func (t *tickCount) add(deadline int64) {
	if s := t.slot(deadline); s != nil {
		s.Add(1)
		t.live.Add(1)
	}
}

// remove takes back an add with the same deadline, unless it lapsed meanwhile.
func (t *tickCount) remove(deadline int64) {
	if s := t.slot(deadline); s != nil {
		s.Add(-1)
		t.live.Add(-1)
	}
}

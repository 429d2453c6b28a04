package flowtable

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Reader is one thread's registration with the table's grace periods. It is
// used by one thread at a time.
//
// Memory that growth leaves is unmapped when two things have happened: every
// Reader has been quiescent, and the garbage collector has found that no
// goroutine refers to the old geometry any more, which covers threads that look
// something up without having registered. Either alone would do for those it
// covers; an unmapped table under a reader is a crash that nothing can catch.
type Reader struct {
	t    *Table
	seen atomic.Uint64 // epoch at the last quiescent point; 0: holds nothing
	_    [48]byte
}

// Reader registers a thread.
func (t *Table) Reader() *Reader {
	r := &Reader{t: t}
	t.rmu.Lock()
	defer t.rmu.Unlock()
	r.seen.Store(t.epoch.Load())
	t.readers = append(t.readers, r)
	return r
}

// Quiescent says that the thread is inside no method of the table and holds no
// Ref that it will use again. lcores call it between bursts; it costs two loads.
func (r *Reader) Quiescent() {
	if e := r.t.epoch.Load(); r.seen.Load() != e {
		r.seen.Store(e)
	}
}

// Pause is Quiescent for a thread that will not use the table before it calls
// Quiescent again: it holds no grace period up.
func (r *Reader) Pause() { r.seen.Store(0) }

// Close ends the registration.
func (r *Reader) Close() {
	r.t.rmu.Lock()
	defer r.t.rmu.Unlock()
	for i, o := range r.t.readers {
		if o == r {
			last := len(r.t.readers) - 1
			r.t.readers[i] = r.t.readers[last]
			r.t.readers = r.t.readers[:last]
			return
		}
	}
}

// retire gives a geometry's memory back after a grace period. No new lookup
// can reach it.
func (t *Table) retire(g *geom) {
	t.rmu.Lock()
	e := t.epoch.Add(1)
	t.rmu.Unlock()
	t.wg.Add(1)
	go func() {
		defer t.wg.Done()
		for d := time.Millisecond; !t.passed(e); d = min(2*d, 100*time.Millisecond) {
			select {
			case <-t.closed:
				g.free()
				return
			case <-time.After(d):
			}
		}
		t.retired.Add(1)
		runtime.AddCleanup(g, func(mem []*region) {
			for _, r := range mem {
				r.free()
			}
			t.unmapped.Add(1)
		}, g.mem)
	}()
}

// passed reports whether every reader has been quiescent since epoch e began.
func (t *Table) passed(e uint64) bool {
	t.rmu.Lock()
	defer t.rmu.Unlock()
	for _, r := range t.readers {
		if s := r.seen.Load(); s != 0 && s < e {
			return false
		}
	}
	return true
}

package dataplane

import (
	"runtime"
	"time"
)

// Serve takes up to budget packets from the worker's ring and does with them
// what the worker is there for. It returns their number. Only the thread that
// polls the ring calls it.
func (w *Worker) Serve(budget int) (n int) {
	s := &w.serving
	it := &s.item
	for n < budget && w.Ring.Dequeue(it) {
		if !w.handle(&it.Frame, &it.Meta, it.Data, it.Buf) && it.Buf != 0 {
			s.done[s.n] = it.Buf
			if s.n++; s.n == doneBatch {
				w.finished(s)
			}
		}
		w.handled.Add(1)
		n++
	}
	if n > 0 && w.Tx != nil {
		w.finished(s)
	}
	return n
}

// finished gives the buffers back of packets that the worker is done with.
func (w *Worker) finished(s *serving) {
	w.Tx.Done(s.done[:s.n])
	s.n = 0
}

// Settle returns when everything that is in the ring now is handled, whatever
// comes behind it, or after the given time. False: it was not in time.
func (w *Worker) Settle(within time.Duration) bool {
	if w.Ring == nil {
		return true
	}
	to := w.Ring.tail.Load()
	for spins, end := 0, time.Now().Add(within); w.handled.Load() < to; spins++ {
		if spins < spinsBeforeNap {
			runtime.Gosched()
			continue
		}
		if time.Now().After(end) {
			return false
		}
		time.Sleep(workerNap)
	}
	return true
}

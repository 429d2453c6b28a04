package dataplane

import (
	"runtime"
	"time"
)

// Serve takes up to budget packets from the worker's ring and does with them
// what the worker is there for. It returns their number. Only the thread that
// polls the ring calls it.
func (w *Worker) Serve(budget int) (n int) {
	var it Item
	for n < budget && w.Ring.Dequeue(&it) {
		w.handle(&it.Frame, &it.Meta, it.Data)
		w.handled.Add(1)
		n++
	}
	return n
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

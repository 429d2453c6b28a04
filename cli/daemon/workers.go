package daemon

import (
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"edemux/dataplane"
)

// workerThread polls the rings of the workers that the configuration puts on
// one CPU.
type workerThread struct {
	cpu     int
	pinned  atomic.Bool
	workers []*dataplane.Worker
}

// serveBudget is how many packets of one worker are handled before the next
// worker of the thread gets its turn.
const serveBudget = 256

// drainTime is how long rings may take to be emptied.
const drainTime = 5 * time.Second

// group groups workers with rings by CPU.
func group(workers []*dataplane.Worker, cpus []int) (all []*workerThread) {
	for i, w := range workers {
		at := slices.IndexFunc(all, func(t *workerThread) bool { return t.cpu == cpus[i] })
		if at < 0 {
			all = append(all, &workerThread{cpu: cpus[i]})
			at = len(all) - 1
		}
		all[at].workers = append(all[at].workers, w)
	}
	return all
}

// Serve starts threads for workers that are new. They may share CPUs with
// those that run.
func (d *Daemon) Serve(workers []*dataplane.Worker, cpus []int) {
	for _, t := range group(workers, cpus) {
		d.workersMu.Lock()
		d.workers = append(d.workers, t)
		d.workersMu.Unlock()
		d.serving.Go(func() { d.serveWorkers(t) })
	}
}

// threads are the worker threads that run now.
func (d *Daemon) threads() []*workerThread {
	d.workersMu.Lock()
	defer d.workersMu.Unlock()
	return slices.Clone(d.workers)
}

// serveWorkers is the thread of some workers.
func (d *Daemon) serveWorkers(t *workerThread) {
	runtime.LockOSThread()
	what := fmt.Sprintf("workers on CPU %d", t.cpu)
	t.pinned.Store(d.pin(t.cpu, what))
	d.guard(what, func() {}, func() {
		for idle := 0; ; {
			n := 0
			for _, w := range t.workers {
				n += w.Serve(serveBudget)
			}
			switch {
			case n > 0:
				idle = 0
			case d.stopWorkers.Load():
				return
			default:
				if idle++; idle > spinPolls {
					time.Sleep(shortNap)
				}
			}
		}
	})
}

// WorkerCPU is the CPU that polls the ring of a worker.
func (d *Daemon) WorkerCPU(worker int) int {
	w := d.host.Engine.Workers()[worker]
	if w.Ring == nil {
		return -1
	}
	for _, t := range d.threads() {
		if t.pinned.Load() && slices.Contains(t.workers, w) {
			return t.cpu
		}
	}
	return -1
}

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

// makeWorkers groups the workers with rings by CPU.
func (d *Daemon) makeWorkers() {
	workers, cpus := d.host.RingWorkers()
	all := d.host.Engine.Workers()
	for i, w := range workers {
		at := slices.IndexFunc(d.workers, func(t *workerThread) bool { return t.cpu == cpus[i] })
		if at < 0 {
			d.workers = append(d.workers, &workerThread{cpu: cpus[i]})
			at = len(d.workers) - 1
		}
		t := d.workers[at]
		t.workers = append(t.workers, w)
		d.byIndex[slices.Index(all, w)] = t
	}
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
	if t := d.byIndex[worker]; t != nil && t.pinned.Load() {
		return t.cpu
	}
	return -1
}

package daemon

import (
	"os"
	"runtime"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// pin keeps the calling thread on a CPU, where that is asked for and allowed.
func (d *Daemon) pin(cpu int, what string) bool {
	if cpu < 0 {
		return false
	}
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		d.log.Warn("not pinned", "thread", what, "cpu", cpu, "error", err)
		return false
	}
	return true
}

// housekeeping keeps the threads that the runtime has now, and those that they
// will start, off the CPUs that poll, and makes room for them beside the polling
// threads.
func (d *Daemon) housekeeping() {
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), len(d.lcores)+len(d.workers)+2))
	if d.backend != nil { // it has threads of its own, which stay where they are
		d.backend.KeepOff()
		return
	}
	var have, rest unix.CPUSet
	if err := unix.SchedGetaffinity(0, &have); err != nil {
		return
	}
	var polling []int
	for _, l := range d.lcores {
		polling = append(polling, l.cpu)
	}
	for _, t := range d.workers {
		polling = append(polling, t.cpu)
	}
	for cpu := range len(have) * 64 {
		if have.IsSet(cpu) && !slices.Contains(polling, cpu) {
			rest.Set(cpu)
		}
	}
	if rest.Count() == 0 || rest.Count() == have.Count() {
		return
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range tasks {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.SchedSetaffinity(id, &rest) // a thread that has ended needs no CPU
		}
	}
}

//go:build dpdk

package dpdk

/*
#include "shim.h"
#include <rte_launch.h>
*/
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// runs holds what each lcore is doing. C knows an lcore by its number only.
var runs [C.RTE_MAX_LCORE]struct {
	sync.Mutex
	f       func()
	onPanic func(error)
	err     error
}

//export edemuxLcore
func edemuxLcore(id C.uint) {
	r := &runs[id]
	r.Lock()
	f, onPanic := r.f, r.onPanic
	r.Unlock()
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		err := &PanicError{Lcore: int(id), Value: v, Stack: string(debug.Stack())}
		r.Lock()
		r.err = err
		r.Unlock()
		if onPanic != nil {
			onPanic(err)
		}
	}()
	f()
}

// Launch runs f on the EAL lcore id, which enters Go once and stays until f
// returns. A panic of f is kept for Wait and told at once, on that lcore, to
// onPanic (may be nil), so that the others can be stopped.
func (e *EAL) Launch(id int, f func(), onPanic func(error)) error {
	if !slices.ContainsFunc(e.lcores, func(l Lcore) bool { return l.ID == id }) {
		return &Error{Object: fmt.Sprintf("lcore %d", id), Step: "launch", Reason: "no such worker lcore", Code: int(unix.EINVAL)}
	}
	if C.rte_eal_get_lcore_state(C.uint(id)) != C.WAIT {
		return &Error{Object: fmt.Sprintf("lcore %d", id), Step: "launch", Reason: "busy", Code: int(unix.EBUSY)}
	}
	r := &runs[id]
	r.Lock()
	r.f, r.onPanic, r.err = f, onPanic, nil
	r.Unlock()
	mark := C.edx_log_mark()
	if code := C.edx_launch(C.uint(id)); code < 0 {
		return failed(fmt.Sprintf("lcore %d", id), "launch", code, mark)
	}
	return nil
}

// Wait waits until the lcore has returned and gives the panic it ended with.
func (e *EAL) Wait(id int) error {
	C.rte_eal_wait_lcore(C.uint(id))
	r := &runs[id]
	r.Lock()
	defer r.Unlock()
	return r.err
}

// KeepOff moves every thread of this process that is not one of EAL's to the
// housekeeping CPUs, so that no collector or timer thread runs where an lcore
// polls; threads born later inherit that. It returns how many threads it moved.
// With all CPUs polling there is nowhere to go and nothing is moved.
func (e *EAL) KeepOff() (moved int, err error) {
	if len(e.lcores) == 0 || slices.ContainsFunc(e.lcores, func(l Lcore) bool { return slices.Contains(e.house, l.CPU) }) {
		return 0, nil
	}
	var set unix.CPUSet
	for _, c := range e.house {
		set.Set(c)
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return 0, err
	}
	for _, t := range tasks {
		tid, _ := strconv.Atoi(t.Name())
		name, err := os.ReadFile(filepath.Join("/proc/self/task", t.Name(), "comm"))
		if err != nil || ealThread(strings.TrimSpace(string(name))) {
			continue
		}
		if err := unix.SchedSetaffinity(tid, &set); err == nil {
			moved++
		} else if err != unix.ESRCH {
			return moved, fmt.Errorf("thread %d: set CPU affinity: %w", tid, err)
		}
	}
	return moved, nil
}

// ealThread reports whether the thread's name is one that EAL gives its lcores.
func ealThread(name string) bool {
	return strings.HasPrefix(name, "lcore-worker") || strings.HasPrefix(name, "rte-worker") || strings.HasPrefix(name, "dpdk-worker")
}

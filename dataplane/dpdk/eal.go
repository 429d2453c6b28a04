//go:build dpdk

package dpdk

/*
#cgo pkg-config: libdpdk
#cgo CFLAGS: -O3
#cgo nocallback edx_poll
#cgo noescape edx_poll
#cgo nocallback edx_flush
#cgo noescape edx_flush
#cgo nocallback edx_free
#cgo noescape edx_free
#cgo nocallback edx_release
#cgo noescape edx_release
#cgo nocallback edx_retag
#cgo noescape edx_retag
#include "shim.h"
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_version.h>
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Built says whether this program has DPDK.
const Built = true

// EAL is the running environment; one per process, for ever.
type EAL struct {
	args   []string
	memory string
	lcores []Lcore
	house  []int
	mu     sync.Mutex
	closed bool
}

var once struct {
	sync.Mutex
	tried bool
}

// Init starts EAL and leaves the calling thread on the CPUs it had. It can be
// called once per process, whether it succeeds or not.
func Init(o Options) (*EAL, error) {
	once.Lock()
	defer once.Unlock()
	if once.tried {
		return nil, &Error{Object: "EAL", Step: "init", Reason: "one EAL per process: it was started before", Code: int(unix.EALREADY)}
	}
	allowed, err := affinity(0)
	if err != nil {
		return nil, &Error{Object: "EAL", Step: "read CPU affinity", Reason: err.Error()}
	}
	huge := ReadHugePages("/sys")
	args, memory, err := argList(&o, allowed, huge)
	if err != nil {
		return nil, &Error{Object: "EAL", Step: "arguments", Reason: err.Error(), Code: int(unix.EINVAL)}
	}
	if pid, used := prefixOwner(o.prefix()); used {
		return nil, &Error{Object: "EAL", Step: "file prefix " + o.prefix(), Reason: fmt.Sprintf("in use by process %d: stop it or choose another prefix", pid), Code: int(unix.EBUSY)}
	}
	once.tried = true
	e := &EAL{args: args, memory: memory, house: o.housekeeping(allowed)}
	if err := e.start(o.LogLevel); err != nil {
		return nil, err
	}
	for i, cpu := range o.CPUs {
		e.lcores = append(e.lcores, Lcore{ID: i + 1, CPU: cpu, NUMA: int(C.rte_lcore_to_socket_id(C.uint(i + 1)))})
	}
	C.edx_clock_start()
	return e, nil
}

// start calls rte_eal_init on a thread whose affinity is put back afterwards:
// EAL pins it to the main lcore, and every thread born from it would stay there.
func (e *EAL) start(level int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var saved unix.CPUSet
	if err := unix.SchedGetaffinity(0, &saved); err != nil {
		return &Error{Object: "EAL", Step: "read CPU affinity", Reason: err.Error()}
	}
	C.edx_log_open(C.int(level))
	// EAL keeps and rewrites argv, so it is never freed.
	argv := C.malloc(C.size_t(len(e.args)+1) * C.size_t(unsafe.Sizeof(uintptr(0))))
	list := unsafe.Slice((**C.char)(argv), len(e.args)+1)
	for i, a := range e.args {
		list[i] = C.CString(a)
	}
	list[len(e.args)] = nil
	mark := C.edx_log_mark()
	code := C.edx_init(C.int(len(e.args)), (**C.char)(argv))
	if err := unix.SchedSetaffinity(0, &saved); err != nil {
		return &Error{Object: "EAL", Step: "restore CPU affinity", Reason: err.Error()}
	}
	if code < 0 {
		return failed("EAL", "init "+strings.Join(e.args[1:], " "), code, mark)
	}
	return nil
}

// affinity are the CPUs that the thread may use.
func affinity(tid int) (cpus []int, err error) {
	var s unix.CPUSet
	if err := unix.SchedGetaffinity(tid, &s); err != nil {
		return nil, err
	}
	for i := 0; len(cpus) < s.Count(); i++ {
		if s.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	return cpus, nil
}

// failed makes an Error of a negative code and what DPDK logged since mark.
func failed(object, step string, code C.int, mark C.uint64_t) error {
	var b [C.EDX_ERRLEN * 4]byte
	n := C.edx_log_since(mark, 4 /* RTE_LOG_ERR */, (*C.char)(unsafe.Pointer(&b[0])), C.size_t(len(b)))
	text := C.GoString(C.rte_strerror(-code))
	if said := explain(string(b[:n])); said != "" {
		text = said + " (" + text + ")"
	}
	return &Error{Object: object, Step: step, Reason: text, Code: int(-code)}
}

// Describe says on what EAL runs, one line per fact.
func (e *EAL) Describe() []string {
	lines := []string{
		Version() + ": EAL " + strings.Join(e.args[1:], " "),
		e.memory,
		"housekeeping on CPUs " + ranges(e.house),
	}
	for _, l := range e.lcores {
		lines = append(lines, fmt.Sprintf("lcore %d polls on CPU %d (NUMA node %d)", l.ID, l.CPU, l.NUMA))
	}
	return lines
}

// Args are the arguments that EAL got, the program's name first.
func (e *EAL) Args() []string { return slices.Clone(e.args) }

// Lcores are the polling lcores, in the order of Options.CPUs.
func (e *EAL) Lcores() []Lcore { return slices.Clone(e.lcores) }

// RuntimeDir is the folder with EAL's sockets.
func (e *EAL) RuntimeDir() string { return C.GoString(C.rte_eal_get_runtime_dir()) }

// Version is DPDK's name and version.
func Version() string { return C.GoString(C.rte_version()) }

// Close shuts EAL down. Ports, pools and rings must be closed and lcores done.
func (e *EAL) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	mark := C.edx_log_mark()
	dir := e.RuntimeDir()
	if code := C.rte_eal_cleanup(); code < 0 {
		return failed("EAL", "clean up", code, mark)
	}
	return removeOwn(dir)
}

// removeOwn removes the folder of an EAL that has shut down; sockets of
// telemetry threads that DPDK leaves running are in it until then.
func removeOwn(dir string) error {
	if filepath.Base(filepath.Dir(dir)) != "dpdk" {
		return nil
	}
	return os.RemoveAll(dir)
}

// Clock: the wall clock (at start, plus monotonic time since) read from the TSC.

// TSC is the time stamp counter.
func TSC() uint64 { return uint64(C.edx_tsc()) }

// TSCHz is the counter's frequency as measured against CLOCK_MONOTONIC.
func TSCHz() float64 { return float64(C.edx_clock_hz()) }

// NowNS is the clock that polls stamp frames with, ns since the Unix epoch.
func NowNS() int64 { return int64(C.edx_clock_ns(C.edx_tsc())) }

// SyncClock measures the frequency over the longer time now passed. One control
// goroutine calls it about once a second; time never goes back.
func SyncClock() { C.edx_clock_sync() }

package flowtable

import (
	"testing"

	"golang.org/x/sys/unix"
)

// threadCPU is the CPU time of the calling thread, ns. The caller has locked
// its goroutine to the thread.
func threadCPU(t testing.TB) int64 {
	var ts unix.Timespec
	noErr(t, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts))
	return ts.Nano()
}

package bench

import "golang.org/x/sys/unix"

// threadTime is the CPU time that the calling thread has used, in ns: user and
// system, without the time in which others had the core. The goroutine must be
// locked to its thread.
func threadTime() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic("bench: thread clock: " + err.Error())
	}
	return ts.Nano()
}

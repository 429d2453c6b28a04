//go:build !linux

package bench

import "time"

var clockStart = time.Now()

// threadTime is elapsed time where there is no clock of threads: then nothing
// else may run on the machine.
func threadTime() int64 { return int64(time.Since(clockStart)) }

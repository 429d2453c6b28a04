//go:build !linux

package flowtable

import (
	"testing"
	"time"
)

var start = time.Now()

// threadCPU is the time that has passed, where a thread's own is not to be had.
func threadCPU(testing.TB) int64 { return int64(time.Since(start)) }

package prefetch

import (
	"testing"
	"unsafe"
)

// TestHarmless shows that prefetching changes nothing, reads nothing it may not
// (nil and out-of-range addresses are hints like any other) and allocates nothing.
func TestHarmless(t *testing.T) {
	mem := make([]uint64, 64)
	for i := range mem {
		mem[i] = uint64(i)
	}
	idx := []uint32{0, 1, 2, 7, 1 << 20}
	n := testing.AllocsPerRun(100, func() {
		Line(unsafe.Pointer(&mem[0]))
		Line(nil)
		Lines(unsafe.Pointer(&mem[0]), idx)
		Lines(unsafe.Pointer(&mem[0]), nil)
	})
	if n != 0 {
		t.Fatalf("%v allocations", n)
	}
	for i, v := range mem {
		if v != uint64(i) {
			t.Fatalf("word %d changed to %d", i, v)
		}
	}
}

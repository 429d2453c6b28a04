//go:build !linux || race

package flowtable

import (
	"errors"
	"unsafe"
)

// heapMax bounds a region on the Go heap, where a reserve costs memory.
const heapMax = 1 << 32

// newRegion takes memory from the Go heap: under the race detector, which sees
// no other memory, and on systems without mmap flags of Linux. The garbage
// collector frees it, so readers need no grace period.
func newRegion(what string, front, reserve uint64, pages string) (*region, error) {
	size := (front + reserve + 63) &^ 63
	if size > heapMax {
		return nil, &AllocError{what, size, errors.New("larger than the heap limit of this build")}
	}
	if pages == Pages2M {
		return nil, &AllocError{what, size, errors.New("no huge pages in this build")}
	}
	mem := make([]uint64, size/8+8)
	base := unsafe.Pointer(&mem[0])
	if off := uintptr(base) & 63; off != 0 {
		base = unsafe.Add(base, 64-off)
	}
	return &region{base: base, size: size, front: front, pages: "heap"}, nil
}

// free drops the memory; the collector does the rest.
func (r *region) free() {}

//go:build !linux

package bench

// mapMemory takes memory from the Go heap.
func mapMemory(size uint64, _ bool) (mem []byte, pages string, free func(), err error) {
	raw := make([]byte, size+hugeSize)
	return alignHuge(raw)[:size], "4k", func() {}, nil
}

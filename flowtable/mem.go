package flowtable

import (
	"fmt"
	"unsafe"
)

// region is one piece of zeroed memory without pointers. The front part is
// meant to be used in full and may be backed by huge pages; what follows is a
// reserve whose pages exist only once they are written to.
type region struct {
	base  unsafe.Pointer
	size  uint64 // bytes, front and reserve
	front uint64
	raw   []byte // what the operating system gave; nil on the Go heap
	pages string // "4k", "2M" or "heap"
}

// view is the region as n values of T from its beginning.
func view[T any](r *region, n uint64) []T {
	var z T
	if n*uint64(unsafe.Sizeof(z)) > r.size {
		panic("flowtable: view larger than its region")
	}
	return unsafe.Slice((*T)(r.base), n)
}

// AllocError says which allocation failed.
type AllocError struct {
	What  string
	Bytes uint64
	Err   error
}

// Error names the table, the purpose and the bytes.
func (e *AllocError) Error() string {
	return fmt.Sprintf("%s: cannot allocate %d bytes (%d MiB): %v", e.What, e.Bytes, e.Bytes>>20, e.Err)
}

// Unwrap returns the operating system's error.
func (e *AllocError) Unwrap() error { return e.Err }

// Values of Config.Pages.
const (
	PagesAuto = ""   // explicit huge pages, else transparent ones, else what there is
	Pages4K   = "4k" // ordinary pages only
	Pages2M   = "2M" // explicit or transparent huge pages, else an error
)

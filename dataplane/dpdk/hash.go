//go:build dpdk

package dpdk

/*
#cgo nocallback edx_hash_find
#cgo noescape edx_hash_find
#include "shim.h"
#include <stdlib.h>
#include <rte_malloc.h>
void *edx_hash(const char *name, unsigned entries, unsigned key, int lock_free, int *err);
unsigned edx_hash_add(void *h, const uint8_t *keys, unsigned key, unsigned n);
unsigned edx_hash_del(void *h, const uint8_t *keys, unsigned key, unsigned n, int lock_free);
unsigned edx_hash_find(void *h, const uint8_t *keys, unsigned key, unsigned n);
void edx_hash_free(void *h);
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// Hash is DPDK's rte_hash, for `edemux bench table`: the table that C programs
// would use. Keys are KeyLen bytes each, one behind the other; every call
// crosses into C once, whatever their number. The crc32 hash of each key is
// part of the call.
type Hash struct {
	h     unsafe.Pointer
	key   int
	bytes uint64
	lf    C.int
}

// NewHash makes a table in EAL's memory.
func (e *EAL) NewHash(c HashConfig) (*Hash, error) {
	name := C.CString(c.Name)
	defer C.free(unsafe.Pointer(name))
	before := heapUsed()
	mark := C.edx_log_mark()
	var code C.int
	lf := C.int(0)
	if c.LockFree {
		lf = 1
	}
	h := C.edx_hash(name, C.uint(c.Entries), C.uint(c.KeyLen), lf, &code)
	if h == nil {
		return nil, failed("hash "+c.Name, fmt.Sprintf("create %d entries (packet memory too small?)", c.Entries), code, mark)
	}
	return &Hash{h: h, key: c.KeyLen, bytes: heapUsed() - before, lf: lf}, nil
}

// heapUsed is what is allocated of rte_malloc's heaps.
func heapUsed() (n uint64) {
	for i := range C.int(C.RTE_MAX_NUMA_NODES) {
		var s C.struct_rte_malloc_socket_stats
		if C.rte_malloc_get_socket_stats(i, &s) == 0 {
			n += uint64(s.heap_allocsz_bytes)
		}
	}
	return n
}

func (h *Hash) keys(b []byte) (*C.uint8_t, C.uint, C.uint) {
	return (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(b))), C.uint(h.key), C.uint(len(b) / h.key)
}

// Insert adds keys and returns how many went in before the first refusal.
func (h *Hash) Insert(keys []byte) int {
	k, size, n := h.keys(keys)
	return int(C.edx_hash_add(h.h, k, size, n))
}

// Lookup looks keys up in bulks of 64 and returns the hits.
func (h *Hash) Lookup(keys []byte) int {
	k, size, n := h.keys(keys)
	return int(C.edx_hash_find(h.h, k, size, n))
}

// Delete removes keys and returns how many were there.
func (h *Hash) Delete(keys []byte) int {
	k, size, n := h.keys(keys)
	return int(C.edx_hash_del(h.h, k, size, n, h.lf))
}

// Bytes is the memory that the table took when it was made: all of it, but the
// buckets that chain.
func (h *Hash) Bytes() uint64 { return h.bytes }

// Close frees the table.
func (h *Hash) Close() { C.edx_hash_free(h.h); h.h = nil }

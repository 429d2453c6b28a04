//go:build dpdk

package dpdk

/*
#include "shim.h"
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Mbuf is the address of an rte_mbuf in C memory. The holder must free it, send
// it or hand it on.
type Mbuf uintptr

// Pool is a mempool of mbufs.
type Pool struct {
	p    *C.struct_rte_mempool
	name string
	size PoolSize
	lost int
}

// NewPool makes a pool of the given size.
func (e *EAL) NewPool(name string, s PoolSize) (*Pool, error) {
	if s.DataRoom+headroom > 0xffff {
		return nil, &Error{Object: "pool " + name, Step: "create", Reason: fmt.Sprintf("data room of %d bytes: at most %d", s.DataRoom, 0xffff-headroom), Code: int(unix.EINVAL)}
	}
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	mark := C.edx_log_mark()
	var code C.int
	p := C.edx_pool(c, C.uint(s.Mbufs), C.uint(s.Cache), C.uint16_t(s.Priv), C.uint16_t(s.DataRoom+headroom), C.int(s.NUMA), &code)
	if p == nil {
		return nil, failed("pool "+name, fmt.Sprintf("create %d mbufs (%d MiB; packet memory too small?)", s.Mbufs, s.Bytes>>20), code, mark)
	}
	return &Pool{p: p, name: name, size: s}, nil
}

// Size is what the pool was made with.
func (p *Pool) Size() PoolSize { return p.size }

// Avail counts the mbufs in the pool and its caches. Exact only while nobody
// takes or gives.
func (p *Pool) Avail() int { return int(C.rte_mempool_avail_count(p.p)) }

// InUse counts the mbufs that are out, without those Lost.
func (p *Pool) InUse() int { return p.size.Mbufs - p.Avail() - p.lost }

// Lost counts the mbufs that closed devices never give back: net_af_xdp forgets
// those in its fill and completion rings.
func (p *Pool) Lost() int { return p.lost }

// Close gives the pool's memory back. No mbuf may be out.
func (p *Pool) Close() error {
	if p.p == nil {
		return nil
	}
	if n := p.InUse(); n != 0 {
		return &Error{Object: "pool " + p.name, Step: "close", Reason: fmt.Sprintf("%d mbufs are still out", n), Code: int(unix.EBUSY)}
	}
	C.rte_mempool_free(p.p)
	p.p = nil
	return nil
}

// New takes an mbuf holding a copy of b; false when the pool is dry or b does
// not fit one mbuf. For control paths and tests: one crossing per mbuf.
func (p *Pool) New(b []byte) (Mbuf, bool) {
	var m *C.struct_rte_mbuf
	if len(b) > p.size.DataRoom || C.edx_alloc(p.p, &m, 1) != 0 {
		return 0, false
	}
	if len(b) > 0 {
		copy(unsafe.Slice((*byte)(C.edx_append(m, C.uint16_t(len(b)))), len(b)), b)
	}
	return Mbuf(unsafe.Pointer(m)), true
}

// Copy makes an mbuf of its own with the bytes of m, from the pool that m is of;
// false when that is dry. One crossing.
func (m Mbuf) Copy() (Mbuf, bool) {
	c := C.edx_copy((*C.struct_rte_mbuf)(m.at(0)))
	return Mbuf(unsafe.Pointer(c)), c != nil
}

// Retag puts tags with these VIDs, outermost first, in the place of the first old
// ones of an Ethernet frame and of one that the device took off; false, with
// nothing changed, when there is no room. One crossing.
func (m Mbuf) Retag(old int, vids []uint16) bool {
	var v [8]C.uint16_t
	if len(vids) > len(v) {
		return false
	}
	for i, id := range vids {
		v[i] = C.uint16_t(id)
	}
	return C.edx_retag((*C.struct_rte_mbuf)(m.at(0)), C.uint(old), &v[0], C.uint(len(vids))) == 0
}

// FreeBurst gives mbufs back, whole chains, in one crossing. They may come from
// any pool.
func FreeBurst(m []Mbuf) {
	if len(m) > 0 {
		C.edx_free((**C.struct_rte_mbuf)(unsafe.Pointer(&m[0])), C.uint(len(m)))
	}
}

// Ring is a bounded rte_ring for one producer and one consumer.
type Ring struct {
	r    *C.struct_rte_ring
	name string
	own  bool
}

// NewRing makes a ring that holds size mbufs.
func (e *EAL) NewRing(name string, size, numa int) (*Ring, error) {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	mark := C.edx_log_mark()
	var code C.int
	r := C.edx_ring(c, C.uint(size), C.int(numa), &code)
	if r == nil {
		return nil, failed("ring "+name, fmt.Sprintf("create %d slots", size), code, mark)
	}
	return &Ring{r: r, name: name, own: true}, nil
}

// findRing finds a ring that a device made.
func findRing(name string) (*Ring, error) {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	r := C.rte_ring_lookup(c)
	if r == nil {
		return nil, &Error{Object: "ring " + name, Step: "look up", Reason: "no such ring", Code: int(unix.ENOENT)}
	}
	return &Ring{r: r, name: name}, nil
}

// Put appends as many of m as fit and returns the count. One producer.
func (r *Ring) Put(m []Mbuf) int {
	if len(m) == 0 {
		return 0
	}
	return int(C.edx_ring_put(r.r, (**C.struct_rte_mbuf)(unsafe.Pointer(&m[0])), C.uint(len(m))))
}

// Get takes up to len(m) mbufs and returns the count. One consumer.
func (r *Ring) Get(m []Mbuf) int {
	if len(m) == 0 {
		return 0
	}
	return int(C.edx_ring_get(r.r, (**C.struct_rte_mbuf)(unsafe.Pointer(&m[0])), C.uint(len(m))))
}

// Len is the number of mbufs waiting.
func (r *Ring) Len() int { return int(C.rte_ring_count(r.r)) }

// Cap is the most that can wait.
func (r *Ring) Cap() int { return int(C.rte_ring_get_capacity(r.r)) }

// Close frees what waits in the ring, and the ring unless a device owns it.
func (r *Ring) Close() {
	if r.r == nil {
		return
	}
	var m [MaxBurst]Mbuf
	for n := r.Get(m[:]); n > 0; n = r.Get(m[:]) {
		FreeBurst(m[:n])
	}
	if r.own {
		C.rte_ring_free(r.r)
	}
	r.r = nil
}

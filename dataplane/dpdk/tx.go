//go:build dpdk

package dpdk

/*
#include "shim.h"
*/
import "C"

import "unsafe"

// TxQueue is one transmit queue of a port, used by one lcore.
type TxQueue struct {
	c *C.struct_edx_txq
}

// Put adds an mbuf that the caller owns to those waiting; false when EDX_TX (256)
// wait already: Flush first. No crossing. A tag that the device took off on
// receive is put back when the mbuf is sent.
func (t *TxQueue) Put(m Mbuf) bool {
	n := t.c.n
	if n == C.EDX_TX {
		return false
	}
	*(*Mbuf)(unsafe.Pointer(&t.c.mb[n])) = m
	t.c.n = n + 1
	return true
}

// Flush sends what waits in one crossing. What the device refuses is freed and
// counted. The queues given to RxQueue.Flushes need it only to drain at the end.
func (t *TxQueue) Flush() {
	if t.c.n != 0 {
		C.edx_flush(t.c)
	}
}

// Waiting is the number of mbufs that Flush would send.
func (t *TxQueue) Waiting() int { return int(t.c.n) }

// Stats are the queue's counters; exact from its own lcore only.
func (t *TxQueue) Stats() TxStats {
	return TxStats{Sent: uint64(t.c.sent), Bytes: uint64(t.c.bytes), Refused: uint64(t.c.refused), Flushes: uint64(t.c.flushes)}
}

func (t *TxQueue) close() {
	if n := t.c.n; n != 0 {
		C.edx_free(&t.c.mb[0], C.uint(n))
		t.c.n = 0
	}
	C.edx_txq_free(t.c)
	t.c = nil
}

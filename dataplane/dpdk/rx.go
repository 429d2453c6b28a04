//go:build dpdk

package dpdk

/*
#include "shim.h"
*/
import "C"

import (
	"time"
	"unsafe"

	"edemux/dataplane/packet"
)

// C writes frames in the layout of packet.Frame. Each line refuses to compile
// when a field has moved.
const (
	_ = -(unsafe.Offsetof(packet.Frame{}.TS) ^ C.EDX_OFF_TS)
	_ = -(unsafe.Offsetof(packet.Frame{}.Num) ^ C.EDX_OFF_NUM)
	_ = -(unsafe.Offsetof(packet.Frame{}.WireLen) ^ C.EDX_OFF_WIRELEN)
	_ = -(unsafe.Offsetof(packet.Frame{}.Port) ^ C.EDX_OFF_PORT)
	_ = -(unsafe.Offsetof(packet.Frame{}.CPU) ^ C.EDX_OFF_CPU)
	_ = -(unsafe.Offsetof(packet.Frame{}.Link) ^ C.EDX_OFF_LINK)
	_ = -(unsafe.Offsetof(packet.Frame{}.Dir) ^ C.EDX_OFF_DIR)
	_ = -(unsafe.Offsetof(packet.Frame{}.PktType) ^ C.EDX_OFF_PKTTYPE)
	_ = -(unsafe.Offsetof(packet.Frame{}.HasPktType) ^ C.EDX_OFF_HASPKTTYPE)
	_ = -(unsafe.Offsetof(packet.Frame{}.HasQueue) ^ C.EDX_OFF_HASQUEUE)
	_ = -(unsafe.Offsetof(packet.Frame{}.VLANStripped) ^ C.EDX_OFF_STRIPPED)
	_ = -(unsafe.Offsetof(packet.Frame{}.TCI) ^ C.EDX_OFF_TCI)
	_ = -(unsafe.Sizeof(packet.Frame{}) ^ C.EDX_SIZE_FRAME)
	_ = -(C.EDX_META ^ metaBytes)
	_ = -(C.EDX_BURST ^ MaxBurst)
)

// RxQueue is one receive queue of a port, polled by one lcore.
type RxQueue struct {
	c      *C.struct_edx_rxq
	frames []packet.Frame // in C memory, written by edx_poll
}

func newRxQueue(port uint16, queue, burst int, slot uint32, numa int, o *PortOptions) *RxQueue {
	c := C.edx_rxq_new(C.uint16_t(port), C.uint16_t(queue), C.uint16_t(burst), C.uint32_t(slot), C.int(numa))
	if c == nil {
		return nil
	}
	q := &RxQueue{c: c, frames: unsafe.Slice((*packet.Frame)(unsafe.Pointer(c.frame)), MaxBurst)}
	if o.Meta {
		c.meta = 1
	}
	cpu := uint16(queue)
	if queue < len(o.CPUs) {
		cpu = o.CPUs[queue]
	}
	for i := range q.frames {
		q.frames[i].Port, q.frames[i].CPU = o.Index, cpu
	}
	return q
}

// Flushes makes each Poll send what waits in these transmit queues first, so
// that sending costs no crossing of its own. At most 32, all of the same lcore.
func (q *RxQueue) Flushes(tx ...*TxQueue) bool {
	if len(tx) > C.EDX_TXQS {
		return false
	}
	for i, t := range tx {
		q.c.tx[i] = t.c
	}
	q.c.ntx = C.uint16_t(len(tx))
	return true
}

// Poll frees the burst of the previous Poll except what Keep handed over, sends
// what waits in the queues given to Flushes, and receives the next burst, all in
// one crossing. Frames and their bytes are in C memory and borrowed until the
// next Poll: never store a pointer to Go memory in them. TS is Now and Num counts
// the queue's frames from 1 (on a Meta port both are the capture's). A frame that
// came in several mbufs is contiguous up to MaxFrame; WireLen is its whole
// length. Never blocks, never allocates.
func (q *RxQueue) Poll() []packet.Frame {
	return q.frames[:C.edx_poll(q.c)]
}

// Now is the clock read by the last Poll after receiving, ns since the Unix epoch.
func (q *RxQueue) Now() int64 { return int64(q.c.ns) }

// TSC is the counter read by the last Poll after receiving.
func (q *RxQueue) TSC() uint64 { return uint64(q.c.tsc) }

// Keep hands the mbuf of frame i over to the caller. The frame's bytes stay
// valid as long as the mbuf when it is a single one; those of a frame in several
// mbufs end with the burst, and only Mbuf.Head remains.
func (q *RxQueue) Keep(i int) Mbuf {
	q.c.keep |= 1 << uint(i)
	return Mbuf(unsafe.Pointer(q.c.mb[i]))
}

// Kept reports whether frame i of the burst in hand was handed over already.
func (q *RxQueue) Kept(i int) bool { return q.c.keep>>uint(i)&1 != 0 }

// Unkeep takes back what Keep did, before the next Poll: the mbuf is the queue's
// again.
func (q *RxQueue) Unkeep(i int) { q.c.keep &^= 1 << uint(i) }

// Index is the number of frame f in the burst in hand; false when f is no frame
// of this queue.
func (q *RxQueue) Index(f *packet.Frame) (int, bool) {
	// Both addresses are of C memory, so they stay as they are.
	d := uintptr(unsafe.Pointer(f)) - uintptr(unsafe.Pointer(&q.frames[0]))
	return int(d / unsafe.Sizeof(*f)), d < MaxBurst*unsafe.Sizeof(*f)
}

// Stripped reports whether the device took a tag off frame i.
func (q *RxQueue) Stripped(i int) bool { return q.frames[i].VLANStripped }

// Single reports whether frame i is in one mbuf, so that its bytes live as long as
// that does.
func (q *RxQueue) Single(i int) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(q.frames[i].Data)))-uintptr(unsafe.Pointer(q.c.scratch)) >= uintptr(q.c.slot)*MaxBurst
}

// Mbuf is the mbuf of frame i, still the queue's.
func (q *RxQueue) Mbuf(i int) Mbuf { return Mbuf(unsafe.Pointer(q.c.mb[i])) }

// Seq is the number that the Feeder was given for frame i of a Meta port.
func (q *RxQueue) Seq(i int) uint64 { return uint64(q.c.seq[i]) }

// Hash is the RSS hash the device computed for frame i, and whether it did.
func (q *RxQueue) Hash(i int) (uint32, bool) {
	return uint32(q.c.hash[i]), q.c.flags[i]&C.RTE_MBUF_F_RX_RSS_HASH != 0
}

// Csum is what the device found about the checksums of frame i.
func (q *RxQueue) Csum(i int) (s Csum) {
	f := q.c.flags[i]
	switch f & C.RTE_MBUF_F_RX_IP_CKSUM_MASK {
	case C.RTE_MBUF_F_RX_IP_CKSUM_GOOD:
		s |= CsumIPGood
	case C.RTE_MBUF_F_RX_IP_CKSUM_BAD:
		s |= CsumIPBad
	}
	switch f & C.RTE_MBUF_F_RX_L4_CKSUM_MASK {
	case C.RTE_MBUF_F_RX_L4_CKSUM_GOOD:
		s |= CsumL4Good
	case C.RTE_MBUF_F_RX_L4_CKSUM_BAD:
		s |= CsumL4Bad
	}
	return s
}

// Release frees the burst in hand without receiving another.
func (q *RxQueue) Release() { C.edx_release(q.c) }

// SetBurst sets how many packets Poll asks for, 1..MaxBurst.
func (q *RxQueue) SetBurst(n int) { q.c.burst = C.uint16_t(max(1, min(n, MaxBurst))) }

// Stats are the queue's counters; exact from its own lcore only.
func (q *RxQueue) Stats() RxStats {
	c := q.c
	return RxStats{
		Polls: uint64(c.polls), Empty: uint64(c.empty), Packets: uint64(c.packets),
		Bytes: uint64(c.bytes), Linearised: uint64(c.linearised), Cut: uint64(c.cut),
	}
}

// Source receives and frees in C alone for about d and returns the packets and
// the time it took: what the device costs without anything of ours.
func (q *RxQueue) Source(d time.Duration) (packets uint64, took time.Duration) {
	var t C.uint64_t
	n := C.edx_source(q.c, ticks(d), &t)
	return uint64(n), duration(t)
}

// pollsInC is Poll in a loop that stays in C, for benchmarks.
func (q *RxQueue) pollsInC(d time.Duration) (packets uint64, took time.Duration) {
	var t C.uint64_t
	n := C.edx_polls(q.c, ticks(d), &t)
	return uint64(n), duration(t)
}

func ticks(d time.Duration) C.uint64_t    { return C.uint64_t(TSCHz() * d.Seconds()) }
func duration(t C.uint64_t) time.Duration { return time.Duration(float64(t) / TSCHz() * 1e9) }

func (q *RxQueue) close() {
	q.Release()
	C.edx_rxq_free(q.c)
	q.c, q.frames = nil, nil
}

// at is a pointer into an mbuf. The memory is C's, so the collector has no say.
func (m Mbuf) at(off uintptr) unsafe.Pointer {
	return unsafe.Add(*(*unsafe.Pointer)(unsafe.Pointer(&m)), off)
}

// Head are the bytes of the mbuf's first segment, in place: writing them changes
// what is sent.
func (m Mbuf) Head() []byte {
	base := *(*unsafe.Pointer)(m.at(C.EDX_MBUF_ADDR))
	off := *(*uint16)(m.at(C.EDX_MBUF_OFF))
	return unsafe.Slice((*byte)(unsafe.Add(base, off)), int(*(*uint16)(m.at(C.EDX_MBUF_LEN))))
}

// Len is the length of the whole packet, bytes.
func (m Mbuf) Len() int { return int(*(*uint32)(m.at(C.EDX_MBUF_PKTLEN))) }

package dpdkport

import (
	"bytes"

	"edemux/dataplane/dpdk"
	"edemux/dataplane/packet"
)

// LcoreTx returns the Tx of workers that run to completion.
func (s *Set) LcoreTx() *LcoreTx { return &LcoreTx{s} }

// WorkerTx returns the Tx of workers whose rings the thread on that CPU polls; all of
// them share it. One control goroutine.
func (s *Set) WorkerTx(cpu int) *WorkerTx {
	l := s.threads[cpu]
	if l == nil {
		l = s.threadLane(len(s.threads))
		s.threads[cpu] = l
	}
	return &WorkerTx{LcoreTx{s}, l}
}

// LcoreTx is the engine's Tx (see there) for frames that a receive queue holds. All
// lcores share it.
type LcoreTx struct{ set *Set }

// Echo turns frame f around and sends it.
func (t *LcoreTx) Echo(f *packet.Frame, _ *packet.Meta, _ uintptr) bool {
	q, i := t.set.find(f)
	if q == nil {
		return false
	}
	if q.lane == nil || q.rx.Kept(i) || !dpdk.Echo(q.rx.Mbuf(i).Head()) {
		q.port.unsent.Add(1)
		return false
	}
	q.lane.to(q.port.spec.Index).put(q.rx.Keep(i))
	return true
}

// Out sends frame f through another port.
func (t *LcoreTx) Out(port uint16, f *packet.Frame, _ *packet.Meta, _ uintptr) bool {
	q, i := t.set.find(f)
	if q == nil {
		return false
	}
	var out *txRef
	if q.lane != nil {
		out = q.lane.to(port)
	}
	if out == nil {
		q.port.unsent.Add(1)
		return false
	}
	m, ok := t.own(q, i)
	if !ok {
		q.port.unsent.Add(1)
		return false
	}
	return out.send(m)
}

// own takes frame i of a queue out of its hands: its mbuf, or a copy when an
// earlier receiver of a multicast datagram has that.
func (t *LcoreTx) own(q *Queue, i int) (dpdk.Mbuf, bool) {
	if q.rx.Kept(i) {
		return q.rx.Mbuf(i).Copy()
	}
	return q.rx.Keep(i), true
}

// send rewrites m and sends it. m is taken, whatever comes of it.
func (t *txRef) send(m dpdk.Mbuf) bool {
	if !t.rewrite(m.Head()) {
		t.port.unsent.Add(1)
		dpdk.FreeBurst([]dpdk.Mbuf{m})
		return true
	}
	t.put(m)
	return true
}

// Keep hands the mbuf of frame f over to a worker's ring.
func (t *LcoreTx) Keep(f *packet.Frame, data []byte) (uintptr, []byte) {
	q, i := t.set.find(f)
	if q == nil {
		return 0, data
	}
	first := !q.rx.Kept(i)
	m, ok := t.own(q, i)
	switch {
	case !ok:
		return 0, bytes.Clone(data) // the pool is dry; the packet can be looked at, not sent
	case !sameBytes(data, f.Data) || !q.rx.Single(i):
		// A datagram put together, or a frame in several mbufs made contiguous: those
		// bytes are lent for the burst only.
		return uintptr(m), bytes.Clone(data)
	case !first:
		return uintptr(m), m.Head()
	}
	return uintptr(m), data
}

// Unkeep undoes Keep.
func (t *LcoreTx) Unkeep(f *packet.Frame, buf uintptr) {
	if buf == 0 {
		return
	}
	if q, i := t.set.find(f); q != nil && q.rx.Mbuf(i) == dpdk.Mbuf(buf) {
		q.rx.Unkeep(i)
		return
	}
	dpdk.FreeBurst([]dpdk.Mbuf{dpdk.Mbuf(buf)})
}

// Done does nothing: the receive queue frees what nobody kept.
func (t *LcoreTx) Done([]uintptr) {}

// WorkerTx is the engine's Tx for mbufs that come through a ring.
type WorkerTx struct {
	LcoreTx // Keep and Unkeep, on the lcores
	lane    *lane
}

// Echo turns a packet around and sends it.
func (t *WorkerTx) Echo(f *packet.Frame, _ *packet.Meta, buf uintptr) bool {
	m, out := dpdk.Mbuf(buf), t.lane.to(f.Port)
	if m == 0 || out == nil || !dpdk.Echo(m.Head()) {
		t.refuse(f)
		return false
	}
	out.put(m)
	return true
}

// Out sends a packet through another port.
func (t *WorkerTx) Out(port uint16, f *packet.Frame, _ *packet.Meta, buf uintptr) bool {
	out := t.lane.to(port)
	if buf == 0 || out == nil {
		t.refuse(f)
		return false
	}
	return out.send(dpdk.Mbuf(buf))
}

func (t *WorkerTx) refuse(f *packet.Frame) {
	if p := t.set.port(f.Port); p != nil {
		p.unsent.Add(1)
	}
}

// Done frees what was not sent and lets out what was.
func (t *WorkerTx) Done(free []uintptr) {
	t.lane.release(free)
	if t.lane.waits {
		t.lane.flush()
	}
}

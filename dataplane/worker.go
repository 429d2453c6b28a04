package dataplane

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"edemux/dataplane/packet"
)

// Handler says what a worker does with its packets.
type Handler uint8

const (
	HandleCount Handler = iota // count packets and bytes
	HandleTouch                // read every byte, as an application would
	HandlePcap                 // write them to a capture
	HandleEcho                 // swap the sides and send back (DPDK)
	HandlePort                 // rewrite the MACs and send on another port (DPDK)
)

// Worker is the owner of group members. Without a ring it runs to completion
// on the lcore that received the packet.
type Worker struct {
	Name    string // pool/index
	Handler Handler
	Port    uint16 // with HandlePort
	Ring    *Ring  // nil: run to completion
	Tx      Tx     // with HandleEcho and HandlePort, set by run
	sum     atomic.Uint64
	handled atomic.Uint64 // items taken from Ring and done with
}

// Tx takes packets that a handler sends. Refused packets are freed and counted
// by the port.
type Tx interface {
	// Echo sends the packet back the way it came; Out sends it on port.
	Echo(f *packet.Frame, m *packet.Meta)
	Out(port uint16, f *packet.Frame, m *packet.Meta)
}

// NewWorker returns worker index of a pool.
func NewWorker(pool string, index int, h Handler) *Worker {
	return &Worker{Name: fmt.Sprintf("%s/%d", pool, index), Handler: h}
}

// accept takes a packet on the receiving lcore: into the ring, or through the
// handler at once. False: the ring is full.
func (w *Worker) accept(p *pkt) bool {
	if w.Ring != nil {
		return w.Ring.Enqueue(Item{Frame: *p.f, Meta: *p.m, Data: p.data})
	}
	w.handle(p.f, p.m, p.data)
	return true
}

// handle does with a packet what the worker is there for.
func (w *Worker) handle(f *packet.Frame, m *packet.Meta, data []byte) {
	switch w.Handler {
	case HandleTouch:
		w.sum.Add(touch(data))
	case HandleEcho:
		if w.Tx != nil {
			w.Tx.Echo(f, m)
		}
	case HandlePort:
		if w.Tx != nil {
			w.Tx.Out(w.Port, f, m)
		}
	}
}

// Poll takes packets from the worker's ring until stop, on the worker's own
// thread. It naps when the ring stays empty.
func (w *Worker) Poll(stop *atomic.Bool) {
	var it Item
	for idle := 0; ; idle++ {
		for w.Ring.Dequeue(&it) {
			w.handle(&it.Frame, &it.Meta, it.Data)
			w.handled.Add(1)
			idle = 0
		}
		switch {
		case stop.Load():
			return
		case idle > spinsBeforeNap:
			time.Sleep(workerNap)
		default:
			runtime.Gosched()
		}
	}
}

// An idle worker looks again at once for a while, then takes short naps.
const (
	spinsBeforeNap = 1000
	workerNap      = 20 * time.Microsecond
)

// Wait returns when everything that was put into the ring so far is handled.
func (w *Worker) Wait() {
	for w.handled.Load() < w.Ring.tail.Load() {
		runtime.Gosched()
	}
}

// touch reads every byte.
func touch(b []byte) (sum uint64) {
	for _, c := range b {
		sum += uint64(c)
	}
	return sum
}

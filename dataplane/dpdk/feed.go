//go:build dpdk

package dpdk

/*
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"edemux/dataplane/packet"
)

// Feeder puts frames of a capture into one receive queue of a ring port: bytes
// into mbufs (chained when longer than the data room), facts of the capture into
// their private area, mbufs into the ring that the queue polls. One goroutine.
type Feeder struct {
	c     *C.struct_edx_feed
	stage []byte
}

var feedPorts atomic.Uint32

// OpenFeed makes a ring port whose receive queues are filled by Feeders, one per
// queue. o.Device is chosen here; the pools must have been sized with Meta.
func (e *EAL) OpenFeed(o PortOptions) (*Port, []*Feeder, error) {
	name := fmt.Sprintf("net_ring_feed%d", feedPorts.Add(1)-1)
	o.Device, o.Meta = name, true
	for _, p := range o.Pools {
		if p.size.Priv < metaBytes {
			return nil, nil, &Error{Object: "pool " + p.name, Step: "feed a capture", Reason: "made without Meta", Code: int(unix.EINVAL)}
		}
	}
	p, err := e.OpenPort(o)
	if err != nil {
		return nil, nil, err
	}
	feeders := make([]*Feeder, p.o.RxQueues)
	for i := range feeders {
		r, err := findRing(fmt.Sprintf("ETH_RXTX%d_%s", i, name))
		if err != nil {
			_ = p.Close()
			return nil, nil, err
		}
		p.rings = append(p.rings, r)
		c := C.edx_feed_new(r.r, o.Pools[min(i, len(o.Pools)-1)].p)
		if c == nil {
			_ = p.Close()
			return nil, nil, &Error{Object: name, Step: "feed a capture", Reason: "out of memory", Code: int(unix.ENOMEM)}
		}
		feeders[i] = &Feeder{c: c, stage: unsafe.Slice((*byte)(unsafe.Pointer(c.stage)), C.EDX_STAGE)}
	}
	return p, feeders, nil
}

// Stage takes a copy of frame f under the number seq; false when there is no
// room before a Push, or when f is longer than any capture allows. No crossing.
func (d *Feeder) Stage(f *packet.Frame, seq uint64) bool {
	i, n := d.c.n, len(f.Data)
	if i == C.EDX_FEED || int(d.c.used)+n > len(d.stage) {
		return false
	}
	copy(d.stage[d.c.used:], f.Data)
	d.c.off[i], d.c.len[i] = d.c.used, C.uint32_t(n)
	d.c.used += C.uint32_t(n)
	d.c.meta[i] = C.struct_edx_meta{
		ts: C.int64_t(f.TS), num: C.uint64_t(f.Num), seq: C.uint64_t(seq), wire_len: C.uint32_t(f.WireLen),
		port: C.uint16_t(f.Port), cpu: C.uint16_t(f.CPU), link: C.uint16_t(f.Link), tci: C.uint16_t(f.TCI),
		dir: C.uint8_t(f.Dir), pkt_type: C.uint8_t(f.PktType),
		has_pkt_type: flag(f.HasPktType), has_queue: flag(f.HasQueue), vlan_stripped: flag(f.VLANStripped),
	}
	d.c.n = i + 1
	return true
}

// Push moves staged frames into the ring in one crossing and returns how many
// still wait because the ring is full or the pool dry; they keep their place and
// order. Loss-free feeding calls it until it returns 0.
func (d *Feeder) Push() int {
	if d.c.n == 0 {
		return 0
	}
	return int(C.edx_feed_push(d.c))
}

// Stats count frames fed and waits.
func (d *Feeder) Stats() FeedStats {
	return FeedStats{Fed: uint64(d.c.fed), RingFull: uint64(d.c.ring_full), PoolEmpty: uint64(d.c.pool_empty)}
}

// Close frees what is staged. Call it before the port's Close.
func (d *Feeder) Close() {
	if d.c != nil {
		C.edx_feed_free(d.c)
		d.c, d.stage = nil, nil
	}
}

package port

import (
	"sync/atomic"

	"edemux/dataplane/packet"
)

// pcapQueue is one queue of a Pcap port. All fields but the counters belong to
// its lcore.
type pcapQueue struct {
	port   *Pcap
	number int
	cpu    uint16
	in     chan piece

	scratch [MaxBurst]packet.Frame // what RxBurst returns: kept frames are shared and stay as they are
	now     piece
	have    bool   // now is being played
	at      int    // next frame of the part
	in1     int    // which chunk of now.all
	pass    uint64 // of now.all, from 1
	shift   int64  // added to due in the loop
	num     uint64 // added to the frames' numbers in the loop
	spent   *chunk // all its frames were returned; given back at the next call

	done                           atomic.Bool
	frames, bytes, passes, stalled atomic.Uint64
}

// Done reports that every pass is over.
func (q *pcapQueue) Done() bool { return q.done.Load() }

// Stats returns the queue's counters.
func (q *pcapQueue) Stats() QueueStats {
	return QueueStats{Frames: q.frames.Load(), Bytes: q.bytes.Load(), Passes: q.passes.Load(), Stalled: q.stalled.Load()}
}

// Free gives the frames in hand back.
func (q *pcapQueue) Free() {
	if q.spent != nil {
		q.port.release(q.spent)
		q.spent = nil
	}
}

// RxBurst returns the frames that are due.
func (q *pcapQueue) RxBurst(now int64) []packet.Frame {
	q.Free()
	if q.done.Load() {
		return nil
	}
	n, bytes := 0, uint64(0)
	elapsed := q.port.since(now)
	for n < MaxBurst && q.spent == nil {
		p := q.part()
		if p == nil {
			if n == 0 && !q.done.Load() {
				q.stalled.Store(q.stalled.Load() + 1)
			}
			break
		}
		for n < MaxBurst && q.at < len(p.frames) && p.due[q.at]+q.shift <= elapsed {
			f := &q.scratch[n]
			*f = p.frames[q.at]
			f.TS = now
			f.Num += q.num
			bytes += uint64(f.WireLen)
			n++
			q.at++
		}
		if q.at < len(p.frames) {
			break // not due, or the burst is full
		}
		q.next()
	}
	q.frames.Store(q.frames.Load() + uint64(n))
	q.bytes.Store(q.bytes.Load() + bytes)
	return q.scratch[:n]
}

// part is what to play now, nil when the feeder is behind or all is over.
func (q *pcapQueue) part() *part {
	if !q.have {
		select {
		case q.now = <-q.in:
		default:
			return nil
		}
		q.have, q.at, q.in1, q.pass, q.num = true, 0, 0, q.now.passes, 0
		q.shift = q.now.shift
		if q.now.all != nil {
			q.shift, q.num = q.now.period, q.now.frames
		}
		q.passes.Store(q.now.passes)
		if q.now.chunk == nil && !q.inLoop() {
			q.done.Store(true)
			q.have = false
			return nil
		}
	}
	if q.now.all != nil {
		return &q.now.all[q.in1].parts[q.number]
	}
	return &q.now.chunk.parts[q.number]
}

// inLoop reports whether the piece is a loop with frames for this queue.
func (q *pcapQueue) inLoop() bool {
	for _, c := range q.now.all {
		if len(c.parts[q.number].frames) > 0 {
			return true
		}
	}
	return false
}

// next goes to the next chunk, and from the last one to the next pass.
func (q *pcapQueue) next() {
	q.at = 0
	if q.now.all == nil {
		q.have, q.spent = false, q.now.chunk
		return
	}
	if q.in1++; q.in1 < len(q.now.all) {
		return
	}
	q.in1 = 0
	q.pass++
	q.passes.Store(q.pass)
	q.shift += q.now.period
	q.num += q.now.frames
	if q.port.o.Loop > 0 && q.pass == uint64(q.port.o.Loop) {
		q.done.Store(true)
		q.have, q.now = false, piece{}
	}
}

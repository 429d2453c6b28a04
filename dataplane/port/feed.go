package port

import (
	"io"

	"edemux/dataplane/capture"
	"edemux/dataplane/packet"
	"edemux/dataplane/rss"
)

// feeder is the state of the feeding goroutine.
type feeder struct {
	*Pcap
	kept   []*chunk
	bytes  int64
	pass   int
	frames uint64 // of the running pass
	before uint64 // of the passes before it
	first  int64  // capture time of the pass's first frame
	shift  int64
	going  int // chunks that go round
}

// feed reads the capture and gives it to the queues until every pass is done,
// everything is kept, or the port is closed.
func (p *Pcap) feed() {
	f := &feeder{Pcap: p}
	for {
		c := f.chunk()
		if c == nil {
			return
		}
		n, err := f.merge.Fill(c.batch)
		switch {
		case err == io.EOF && f.frames > 0:
			if f.passed() {
				return
			}
		case err == io.EOF:
			f.give(piece{last: true})
			return
		case err != nil:
			f.fail(err)
			return
		default:
			f.spread(c, n)
			if !f.give(piece{chunk: c, shift: f.shift, passes: uint64(f.pass)}) {
				return
			}
		}
	}
}

// chunk returns one to fill: a new one while the capture is being kept, else
// one that nobody uses any more.
func (f *feeder) chunk() *chunk {
	if f.bytes < f.o.Retain || f.going < ringChunks {
		return &chunk{batch: capture.NewBatch(chunkFrames, chunkBytes), parts: make([]part, len(f.queues))}
	}
	select {
	case c := <-f.free:
		if f.o.Settle != nil {
			f.o.Settle()
		}
		return c
	case <-f.stop:
		return nil
	}
}

// passed ends a pass and reports whether there is nothing left to feed.
func (f *feeder) passed() bool {
	f.pass++
	if f.pass == 1 && f.o.Warn != nil {
		for _, w := range f.file.Warnings() {
			f.o.Warn(w.String())
		}
	}
	if f.pass == f.o.Loop {
		f.give(piece{last: true, passes: uint64(f.pass)})
		return true
	}
	first, last, _ := f.merge.Span()
	period := f.o.Pace.due(last-first+capture.LoopGap, f.frames)
	if f.kept != nil {
		f.give(piece{all: f.kept, period: period, frames: f.frames, passes: 1, last: true})
		return true
	}
	f.shift += period
	f.before += f.frames
	f.frames = 0
	if err := f.merge.Rewind(); err != nil {
		f.fail(err)
		return true
	}
	return false
}

// spread gives each frame of a chunk its queue, as RSS does, and its time.
func (f *feeder) spread(c *chunk, n int) {
	for i := range c.parts {
		c.parts[i].frames, c.parts[i].due = c.parts[i].frames[:0], c.parts[i].due[:0]
	}
	var m packet.Meta
	for i := range n {
		x := &c.batch.Frames[i]
		if f.frames == 0 {
			f.first = x.TS
		}
		q := f.queueOf(x, &m)
		due := f.o.Pace.due(x.TS-f.first, f.frames)
		f.frames++
		x.Num, x.Port, x.CPU = f.before+f.frames, f.o.Index, f.o.CPUs[q]
		c.parts[q].frames = append(c.parts[q].frames, *x)
		c.parts[q].due = append(c.parts[q].due, due)
		f.bytes += int64(len(x.Data))
	}
	c.using.Store(int32(len(f.queues)))
	if f.pass == 0 && f.bytes <= f.o.Retain {
		c.kept = true
		f.kept = append(f.kept, c)
		return
	}
	f.kept = nil // it does not fit
	if !c.rounds {
		c.rounds = true
		f.going++
	}
}

func (f *feeder) queueOf(x *packet.Frame, m *packet.Meta) int {
	switch n := len(f.queues); {
	case n == 1:
		return 0
	case x.HasQueue:
		return int(x.CPU) % n
	default:
		packet.Parse(x, &packet.Options{}, m)
		return int(rss.Queue(f.rss.Hash(m), uint16(n)))
	}
}

// give hands a piece to every queue. False: the port was closed.
func (f *feeder) give(x piece) bool {
	for _, q := range f.queues {
		select {
		case q.in <- x:
		case <-f.stop:
			return false
		}
	}
	return true
}

func (f *feeder) fail(err error) {
	f.mu.Lock()
	f.err = err
	f.mu.Unlock()
	f.give(piece{last: true})
}

// release gives a chunk back that all queues are done with.
func (p *Pcap) release(c *chunk) {
	if c.using.Add(-1) > 0 || c.kept {
		return
	}
	select {
	case p.free <- c:
	default: // more chunks than go round: this one is the collector's
	}
}

package replay

import (
	"context"
	"errors"
	"io"
	"sync"

	"edemux/dataplane"
	"edemux/dataplane/capture"
	"edemux/dataplane/packet"
)

// A batch holds up to batchFrames frames of together batchBytes.
const (
	batchFrames = 512
	batchBytes  = 1 << 20
)

// record is one frame on its way to the reports.
type record struct {
	frame  *packet.Frame
	meta   *packet.Meta
	number uint64 // from 1 within its input
	port   string
}

// batch is a run of consecutive frames with the memory that their bytes live
// in. It goes round: reader, parser, walker, printer, reader.
type batch struct {
	n      int
	cap    *capture.Batch
	metas  []packet.Meta
	dec    []dataplane.Decision
	skip   []bool // left out by --frames or --filter
	first  uint64 // position of frame 0 in the merged input, from 1
	copies []dataplane.Copy
	names  []namesAt
	err    error // why the reader stopped; io.EOF at the end
	parsed chan struct{}
}

// namesAt says which names hold from a frame of the batch on: a script may
// create sockets between two frames.
type namesAt struct {
	from  int
	names *dataplane.Names
}

func newBatch() *batch {
	return &batch{
		cap:    capture.NewBatch(batchFrames, batchBytes),
		metas:  make([]packet.Meta, batchFrames),
		dec:    make([]dataplane.Decision, batchFrames),
		skip:   make([]bool, batchFrames),
		parsed: make(chan struct{}, 1),
	}
}

// stages are the steps of a pipeline. Each is called from one thread, parse from
// several.
type stages struct {
	read  func(*batch) error // fills the batch; io.EOF ends
	parse func(*batch)
	walk  func(*batch) error
	print func(*batch) error

	// feed, which may be nil, runs ahead of walk.
	feed func(context.Context, *batch) error
	// on starts f, which calls walk, on a thread of its own; wait returns when f has,
	// and what it panicked with. nil: any thread.
	on func(f func()) (wait func() error, err error)
}

// errStop ends a pipeline without an error: --duration or --frames is reached.
var errStop = io.EOF

// runPipeline drives the stages until read is at the end, a stage fails or ctx
// is done. Order is kept: walk and print see batches as they were read.
func runPipeline(ctx context.Context, parsers int, s stages) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	depth := parsers + 3
	free := make(chan *batch, depth)
	for range depth {
		free <- newBatch()
	}
	toParse := make(chan *batch, depth)
	ordered := make(chan *batch, depth)
	toPrint := make(chan *batch, depth)

	var wg sync.WaitGroup
	wg.Go(func() { readLoop(ctx, s.read, free, toParse, ordered) })
	for range parsers {
		wg.Go(func() {
			for b := range toParse {
				s.parse(b)
				b.parsed <- struct{}{}
			}
		})
	}
	toWalk := ordered
	if s.feed != nil {
		toWalk = make(chan *batch, depth)
		wg.Go(func() { feedLoop(ctx, cancel, s.feed, ordered, toWalk) })
	}
	wait, err := s.start(func() { walkLoop(ctx, cancel, s.walk, toWalk, toPrint) })
	if err != nil {
		return err
	}
	var result error
	for b := range toPrint {
		if err := s.print(b); err != nil && result == nil {
			result = err
			cancel(err)
		}
		if b.err != nil && b.err != io.EOF && result == nil {
			result = b.err
		}
		free <- b
	}
	wg.Wait()
	if err := wait(); err != nil {
		return err
	}
	if result != nil {
		return result
	}
	if err := context.Cause(ctx); err != nil && err != errStop {
		return err
	}
	return nil
}

// start runs f on the thread that the walk wants.
func (s *stages) start(f func()) (wait func() error, err error) {
	if s.on != nil {
		return s.on(f)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	return func() error { <-done; return nil }, nil
}

// feedLoop feeds each batch once it is parsed, and passes it on.
func feedLoop(ctx context.Context, cancel context.CancelCauseFunc, feed func(context.Context, *batch) error, in <-chan *batch, out chan<- *batch) {
	defer close(out)
	for b := range in {
		<-b.parsed
		if ctx.Err() == nil {
			if err := feed(ctx, b); err != nil {
				cancel(err)
			}
		}
		b.parsed <- struct{}{}
		out <- b
	}
}

// errBroken ends the other stages when the walk panics.
var errBroken = errors.New("the walk ended early")

func walkLoop(ctx context.Context, cancel context.CancelCauseFunc, walk func(*batch) error, in <-chan *batch, out chan<- *batch) {
	whole := false
	defer func() {
		if !whole {
			cancel(errBroken)
		}
		close(out)
	}()
	for b := range in {
		<-b.parsed
		if ctx.Err() != nil {
			b.n = 0 // not decided: nothing to report
		} else if err := walk(b); err != nil {
			cancel(err)
		}
		out <- b
	}
	whole = true
}

func readLoop(ctx context.Context, read func(*batch) error, free <-chan *batch, outs ...chan<- *batch) {
	defer func() {
		for _, o := range outs {
			close(o)
		}
	}()
	for {
		var b *batch
		select {
		case b = <-free:
		case <-ctx.Done():
			return
		}
		b.err = read(b)
		for _, o := range outs {
			o <- b
		}
		if b.err != nil {
			return
		}
	}
}

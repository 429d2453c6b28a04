package port

import (
	"fmt"
	"sync"
	"sync/atomic"

	"edemux/dataplane/capture"
	"edemux/dataplane/packet"
	"edemux/dataplane/rss"
)

// PcapOptions describe a port that plays a capture.
type PcapOptions struct {
	File  string
	Name  string   // of the port, in messages
	Index uint16   // of the port in the configuration
	CPUs  []uint16 // CPU number of each queue, at least one
	Loop  int      // passes; 0 = for ever
	Pace  Pace
	// Retain is how many bytes of frames are kept in memory; a capture that fits
	// is read once, whatever Loop says. 0: DefaultRetain.
	Retain int64
	// Settle returns when all frames that were given back so far are out of use,
	// also by the rings of workers. nil: they are when they were given back.
	Settle func()
	// Warn gets what was wrong with the capture. nil: ignored.
	Warn func(string)
}

// DefaultRetain is enough for about two million short frames.
const DefaultRetain = 256 << 20

// Frames and bytes of a chunk, the unit in which the feeder reads ahead, and
// how many chunks a capture that does not fit into memory has.
const (
	chunkFrames = 4096
	chunkBytes  = 2 << 20
	ringChunks  = 4
)

// Pcap is a port that plays a capture, again and again if asked to. The feeder,
// a goroutine, reads ahead, spreads the frames over the queues as RSS does and
// keeps what fits; once everything is kept it ends and the queues go round by
// themselves.
type Pcap struct {
	o      PcapOptions
	file   *capture.Reader
	merge  *capture.Merge
	rss    *rss.Hasher
	queues []*pcapQueue

	start  atomic.Int64 // clock of the first poll; 0: none yet
	stop   chan struct{}
	free   chan *chunk
	ended  sync.WaitGroup
	closed sync.Once

	mu  sync.Mutex
	err error
}

// chunk is a run of frames, spread over the queues.
type chunk struct {
	batch *capture.Batch
	parts []part       // by queue
	using atomic.Int32 // queues that are not done with it
	kept  bool         // for good; set before the queues get it
	// rounds: counted among those that go round; the feeder's.
	rounds bool
}

// part is one queue's share of a chunk: frames and when each is due, in ns
// since the start of its pass.
type part struct {
	frames []packet.Frame
	due    []int64
}

// piece is what the feeder gives a queue: a chunk of a pass, or the loop over
// everything that was kept.
type piece struct {
	chunk  *chunk
	shift  int64 // added to due
	passes uint64
	all    []*chunk // the loop
	period int64    // of a pass, ns
	frames uint64   // of a pass, all queues
	last   bool     // nothing follows
}

// OpenPcap opens the capture and reads its header.
func OpenPcap(o PcapOptions) (*Pcap, error) {
	if o.Retain == 0 {
		o.Retain = DefaultRetain
	}
	r, err := capture.Open(o.File, capture.Options{Port: o.Name})
	if err != nil {
		return nil, fmt.Errorf("port %s: %w", o.Name, err)
	}
	p := &Pcap{
		o: o, file: r, merge: capture.NewMerge(r), rss: rss.New(rss.Default()),
		stop: make(chan struct{}), free: make(chan *chunk, ringChunks),
	}
	for i := range o.CPUs {
		p.queues = append(p.queues, &pcapQueue{port: p, number: i, cpu: o.CPUs[i], in: make(chan piece, ringChunks)})
	}
	return p, nil
}

// Info describes the port.
func (p *Pcap) Info() Info { return Info{Source: "pcap:" + p.o.File} }

// Queues are the queues by number.
func (p *Pcap) Queues() []RxQueue {
	all := make([]RxQueue, len(p.queues))
	for i, q := range p.queues {
		all[i] = q
	}
	return all
}

// Start starts the feeder.
func (p *Pcap) Start() error {
	p.ended.Go(p.feed)
	return nil
}

// Err is why reading failed.
func (p *Pcap) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Close ends the feeder and closes the file.
func (p *Pcap) Close() (err error) {
	p.closed.Do(func() {
		close(p.stop)
		p.ended.Wait()
		err = p.merge.Close()
	})
	return err
}

// since is the time since the first poll of any queue.
func (p *Pcap) since(now int64) int64 {
	at := p.start.Load()
	if at == 0 {
		p.start.CompareAndSwap(0, now)
		at = p.start.Load()
	}
	return now - at
}

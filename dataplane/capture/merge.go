package capture

import (
	"io"

	"edemux/dataplane/packet"
)

// LoopGap is the pause, in ns, between the passes of a looped replay.
const LoopGap = 1_000_000

// Origin says where a frame of a merge comes from.
type Origin struct {
	Input int    // index of the reader given to NewMerge
	Frame uint64 // number in that input, from 1
}

// Merge yields the frames of several readers by time. It belongs to one
// goroutine and owns its readers from NewMerge to Close.
type Merge struct {
	in    []input
	heap  []int32 // inputs with a frame at hand, the next one first
	stale int32   // input whose frame the last Next lent out; -1: none
	ports *PortNames

	started     bool
	any         bool // some frame has come
	first, last int64
	err         error
}

// input is a reader and its next frame.
type input struct {
	r    *Reader
	head packet.Frame // Data borrowed from r
	when int64        // its place in the order: never before its predecessor's
	any  bool         // when is valid
}

// NewMerge merges readers; frames of the same time come in the order of the
// arguments. Ports are named by the table given to SetPorts, else by one of its
// own.
func NewMerge(readers ...*Reader) *Merge {
	m := &Merge{in: make([]input, len(readers)), heap: make([]int32, 0, len(readers)), ports: NewPortNames()}
	for i, r := range readers {
		m.in[i].r = r
	}
	m.reset()
	return m
}

func (m *Merge) reset() {
	m.heap, m.stale, m.started, m.err = m.heap[:0], -1, false, nil
}

// SetPorts makes p name the ports, before the first frame is read.
func (m *Merge) SetPorts(p *PortNames) { m.ports = p }

// Ports is the table that Frame.Port indexes. It grows while reading.
func (m *Merge) Ports() *PortNames { return m.ports }

// Readers are the readers in argument order.
func (m *Merge) Readers() []*Reader {
	rs := make([]*Reader, len(m.in))
	for i := range m.in {
		rs[i] = m.in[i].r
	}
	return rs
}

// Next reads the next frame into f, Port included. f.Data is valid until the
// following call. It returns io.EOF once every input is at its end, and the
// error of a source that fails at the place in the order where it does.
func (m *Merge) Next(f *packet.Frame) (Origin, error) {
	i, err := m.next()
	if err != nil {
		return Origin{}, err
	}
	m.stale = i
	in := &m.in[i]
	*f = in.head
	return Origin{int(i), in.r.frames}, nil
}

// next brings the next frame to the head of the input returned. The frame
// returned before is taken to be used up.
func (m *Merge) next() (int32, error) {
	if !m.started {
		m.start()
	}
	if m.err != nil {
		return 0, m.err
	}
	if m.stale >= 0 {
		m.refill()
		if m.err != nil {
			return 0, m.err
		}
	}
	if len(m.heap) == 0 {
		m.err = io.EOF
		return 0, m.err
	}
	i := m.heap[0]
	when := m.in[i].when
	if !m.any {
		m.any, m.first, m.last = true, when, when
	}
	m.last = max(m.last, when)
	return i, nil
}

func (m *Merge) start() {
	m.started = true
	for i := range m.in {
		m.in[i].any = false
		if m.advance(&m.in[i], i) {
			m.heap = append(m.heap, int32(i))
			m.up(len(m.heap) - 1)
		}
	}
}

// refill replaces the frame at the top of the heap, which is used up.
func (m *Merge) refill() {
	i := m.stale
	m.stale = -1
	if !m.advance(&m.in[i], int(i)) {
		n := len(m.heap) - 1
		m.heap[0] = m.heap[n]
		m.heap = m.heap[:n]
	}
	m.down()
}

// advance reads the next frame of an input and reports whether there is one.
func (m *Merge) advance(in *input, i int) bool {
	if err := in.r.Next(&in.head); err != nil {
		if err != io.EOF && m.err == nil {
			m.err = err
		}
		return false
	}
	in.head.Port = m.ports.Port(i, in.r)
	if !in.any || in.head.TS > in.when {
		in.any, in.when = true, in.head.TS
	}
	return true
}

// before is the order of the merge.
func (m *Merge) before(a, b int32) bool {
	x, y := m.in[a].when, m.in[b].when
	return x < y || x == y && a < b
}

func (m *Merge) up(i int) {
	for h := m.heap; i > 0; {
		p := (i - 1) / 2
		if !m.before(h[i], h[p]) {
			return
		}
		h[i], h[p] = h[p], h[i]
		i = p
	}
}

func (m *Merge) down() {
	h := m.heap
	for i := 0; ; {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && m.before(h[c+1], h[c]) {
			c++
		}
		if !m.before(h[c], h[i]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

// Span is the time of the first frame in the order and the latest so far, in ns
// from the epoch; ok is false before the first frame. After a whole pass a
// looped replay shifts the next one by last - first + LoopGap.
func (m *Merge) Span() (first, last int64, ok bool) { return m.first, m.last, m.any }

// Rewind starts all inputs again; frame numbers start at 1 and times are the
// capture's. Ports and Span are kept. It is an error for inputs that cannot be
// read twice.
func (m *Merge) Rewind() error {
	for i := range m.in {
		if err := m.in[i].r.Rewind(); err != nil {
			m.err, m.started = err, true
			return err
		}
	}
	m.reset()
	return nil
}

// Close closes the readers and returns the first error.
func (m *Merge) Close() error {
	var first error
	for i := range m.in {
		if err := m.in[i].r.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

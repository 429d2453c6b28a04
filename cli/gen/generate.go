package gen

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"edemux/flowtable"
)

// generator is one run.
type generator struct {
	p     *plan
	r     random
	order *order
	flows flow
	steps []step // of a TCP life
	head  int
	file  *file
	left  int64 // frames still to write
	made  uint64

	touched uint32 // a sum of no meaning that keeps early loads alive

	whole, scratch []byte // datagrams before they are cut or quoted
}

func newGenerator(w io.Writer, o Options) (*generator, error) {
	p, err := newPlan(o)
	if err != nil {
		return nil, err
	}
	g := &generator{p: p, r: random{mix(p.Seed)}, left: p.Packets, file: newFile(w, p)}
	g.order = newOrder(p.Order, p.Flows, mix(p.Seed+1))
	g.steps, g.head = p.life()
	g.flows.turn = make([]uint32, p.Flows)
	if p.Proto != "udp" {
		g.flows.seq = make([]uint32, p.Flows)
	}
	if g.left == 0 {
		g.left = -1 // lives are counted, whatever comes on top of them
	}
	return g, nil
}

// Generate writes a capture. Errors in o begin with `gen:` and name the flag
// of `edemux gen`; others are the writer's.
func Generate(w io.Writer, o Options) error {
	g, err := newGenerator(w, o)
	if err != nil {
		return err
	}
	g.run()
	g.file.flush()
	return g.file.err
}

// Frames makes the frames without a file around them, for benchmarks. They lie
// one behind the other in a single piece of memory and are the caller's.
func Frames(o Options) ([][]byte, error) {
	g, err := newGenerator(nil, o)
	if err != nil {
		return nil, err
	}
	g.run()
	all := g.file.buf
	out := make([][]byte, len(g.file.frameOffsets))
	end := len(all)
	for i := len(out) - 1; i >= 0; i-- {
		at := g.file.frameOffsets[i]
		out[i] = all[at:end:end]
		end = at
	}
	return out, nil
}

// run makes --packets frames, or else one life of every flow: then a flow in a
// round that has lived is passed over, while drawn orders are only as long.
func (g *generator) run() {
	lives := int64(-1)
	rounds := g.p.Order == "robin" || g.p.Order == "shuffle"
	if g.left < 0 {
		lives = g.total()
	}
	var s segment
	for g.left != 0 && lives != 0 && g.file.err == nil {
		i, later := g.order.next()
		g.touched += g.flows.turn[later]
		if lives > 0 {
			if rounds && int(g.flows.turn[i]) >= g.span(i) {
				continue
			}
			lives--
		}
		g.next(i, &s)
		g.emit(&s)
		if g.left != 0 && !s.multicast && g.r.percent(g.p.ICMP) {
			g.emitError(&s)
		}
	}
}

// emit writes a segment as one frame or as fragments.
func (g *generator) emit(s *segment) {
	g.made++
	l3 := 28 + s.payload // a TCP segment keeps below the MTU
	if s.v6 {
		l3 += 20
	}
	if g.p.MTU > 0 && l3 > g.p.MTU && !s.tcp {
		g.whole = appendIP(g.whole[:0], s, false)
		g.scratch = fragment(g.whole, g.scratch, g.p.MTU, s.id, func(ip []byte) {
			if g.left != 0 {
				g.write(s, ip)
			}
		})
		return
	}
	f := g.file
	f.begin()
	f.buf = g.p.appendLink(f.buf, s)
	f.buf = appendIP(f.buf, s, true)
	g.end(s)
}

// emitError writes an ICMP error about what the local side sent on the flow.
func (g *generator) emitError(s *segment) {
	q := *s
	q.out, q.flags, q.seq, q.ack = true, 0x10, s.ack, s.seq
	q.payload = min(q.payload, 512)
	g.whole = appendIP(g.whole[:0], &q, true)
	q.out, q.id = false, uint32(g.made)
	g.made++
	g.scratch = appendError(g.scratch[:0], &q, quoted(g.whole, s.v6))
	g.write(&q, g.scratch)
}

func (g *generator) write(s *segment, ip []byte) {
	f := g.file
	f.begin()
	f.buf = g.p.appendLink(f.buf, s)
	f.buf = append(f.buf, ip...)
	g.end(s)
}

// end pads a short Ethernet frame and closes its record.
func (g *generator) end(s *segment) {
	f := g.file
	if g.p.link == linkEthernet {
		if n := len(f.buf) - f.mark - f.recordHead(); n < ethernetMin {
			f.buf, _ = grow(f.buf, ethernetMin-n)
		}
	}
	f.end(s)
	if g.left > 0 {
		g.left--
	}
}

// WriteFlows writes the unicast UDP flows as a `flows:` file of the
// configuration: laddr, lport, faddr, fport, worker, separated by tabs. Workers
// of the pool take turns.
func WriteFlows(w io.Writer, o Options) error {
	p, err := newPlan(o)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	if _, err := fmt.Fprintln(out, "# laddr\tlport\tfaddr\tfport\tworker"); err != nil {
		return err
	}
	var line []byte
	n := 0
	for i := range uint64(p.Flows) {
		t := p.tuple(i)
		if t.tcp || t.multicast {
			continue
		}
		line = appendAddr(line[:0], t.laddr, t.lport)
		line = appendAddr(line, t.faddr, t.fport)
		line = append(line, p.Pool...)
		line = append(line, '/')
		line = strconv.AppendInt(line, int64(n%p.Workers), 10)
		line = append(line, '\n')
		if _, err := out.Write(line); err != nil {
			return err
		}
		n++
	}
	return out.Flush()
}

func appendAddr(b []byte, a flowtable.Addr, port uint16) []byte {
	b = a.Netip().AppendTo(b)
	b = append(b, '\t')
	b = strconv.AppendUint(b, uint64(port), 10)
	return append(b, '\t')
}

// EachFlow calls do for every flow in order with its key as the local side
// sees it, so that a benchmark can connect all of them without a file.
func EachFlow(o Options, do func(k flowtable.Key, tcp bool)) error {
	p, err := newPlan(o)
	if err != nil {
		return err
	}
	for i := range uint64(p.Flows) {
		t := p.tuple(i)
		do(flowtable.Key{Laddr: t.laddr, Faddr: t.faddr, Lport: t.lport, Fport: t.fport}, t.tcp)
	}
	return nil
}

package gen

import "edemux/dataplane/packet"

// step is one packet in the life of a TCP flow.
type step struct {
	out   bool // sent by the local side
	flags uint8
	data  bool
}

// life lists the packets of one TCP connection. head is where data begins: a
// life without end goes on from there.
func (p *plan) life() (steps []step, head int) {
	const ack = packet.ACK
	add := func(s step) {
		if p.Both || !s.out {
			steps = append(steps, s)
		}
	}
	if !p.NoHandshake {
		add(step{flags: packet.SYN})
		add(step{out: true, flags: packet.SYN | ack})
		add(step{flags: ack})
	}
	head = len(steps)
	for range p.Data {
		add(step{flags: packet.PSH | ack, data: true})
		add(step{out: true, flags: ack})
	}
	switch p.End {
	case "fin":
		add(step{flags: packet.FIN | ack})
		add(step{out: true, flags: packet.FIN | ack})
		add(step{flags: ack})
	case "rst":
		add(step{flags: packet.RST | ack})
	}
	return steps, head
}

// span is the number of packets in the life of flow i.
func (g *generator) span(i uint64) int {
	switch t := g.p.tuple(i); {
	case t.tcp:
		return len(g.steps)
	case g.p.Both && !t.multicast:
		return 2 * g.p.Data
	}
	return g.p.Data
}

// total is the number of packets when every flow lives once.
func (g *generator) total() (n int64) {
	for i := range uint64(g.p.Flows) {
		n += int64(g.span(i))
	}
	return n
}

// flow is what the generator remembers of one.
type flow struct {
	turn []uint32 // packets so far, by flow
	seq  []uint32 // next sequence number of the remote side, by flow; nil without TCP
}

// segment is one packet to be written.
type segment struct {
	tuple
	flow     uint64
	turn     uint32
	out      bool
	flags    uint8 // TCP
	seq, ack uint32
	payload  int
	id       uint32 // IP identification
}

// next fills in what flow i sends now.
func (g *generator) next(i uint64, s *segment) {
	*s = segment{tuple: g.p.tuple(i), flow: i, turn: g.flows.turn[i], id: uint32(g.made)}
	g.flows.turn[i]++
	size := g.p.size.next(&g.r) - ethernetLen
	head := 28
	if s.v6 {
		head = 48
	}
	if !s.tcp {
		s.out = g.p.Both && !s.multicast && s.turn&1 == 1
		s.payload = max(0, min(size, 65535)-head)
		return
	}
	head += 12
	if g.p.MTU > 0 {
		size = min(size, g.p.MTU)
	}
	g.nextTCP(i, s, max(1, min(size, 65535)-head))
}

// nextTCP walks the life. The remote side's sequence number is remembered, the
// local side's follows from the flow and how often it has lived.
func (g *generator) nextTCP(i uint64, s *segment, payload int) {
	n, cycle := int(s.turn), uint32(0)
	switch {
	case n < len(g.steps):
	case g.p.End == "none":
		n = g.head + (n-g.head)%(len(g.steps)-g.head)
	default:
		cycle = uint32(n / len(g.steps))
		n %= len(g.steps)
	}
	st := g.steps[n]
	seq := &g.flows.seq[i]
	if s.turn == 0 {
		*seq = uint32(mix(i ^ g.p.Seed))
	} else if n == 0 && g.p.End != "none" {
		*seq += 0x10000 // acceptable on the TIME_WAIT of the life before
	}
	local := uint32(mix(i^g.p.Seed^0x10ca1)) + cycle<<17 // what the local side sent is one SYN, then one FIN
	s.out, s.flags, s.seq, s.ack = st.out, st.flags, *seq, local+1
	if st.out {
		s.seq, s.ack = local+1, *seq
	}
	switch {
	case st.flags == packet.SYN:
		s.ack = 0
		*seq++
	case st.flags == packet.SYN|packet.ACK:
		s.seq = local
	case st.data:
		s.payload = payload
		*seq += uint32(payload)
	case st.flags&packet.FIN != 0 && !st.out:
		*seq++
	case n == len(g.steps)-1 && g.p.End == "fin":
		s.ack = local + 2
	}
}

package demux

import (
	"fmt"

	"edemux/flowtable"
)

// FlowSpec is a connected UDP socket of which nothing but its identity and
// owner is asked.
type FlowSpec struct {
	Key    flowtable.Key
	Worker uint32
}

// AddFlows opens many connected UDP sockets, named name/0, name/1, ..., as if
// each had been opened with SO_REUSEADDR: they do not conflict with what is
// bound already. They are unbound (VRF default). It returns the first SockID.
// The cost is 80 to 100 bytes each.
func (b *Builder) AddFlows(name string, flows []FlowSpec) (SockID, error) {
	if uint64(b.next)+uint64(len(flows)) > maxSock {
		return 0, fmt.Errorf("flows %s: no socket numbers left", name)
	}
	for i := range flows {
		k := &flows[i].Key
		if k.Laddr.Is4() != k.Faddr.Is4() || k.Laddr.IsAny() || k.Lport == 0 || k.Fport == 0 {
			return 0, fmt.Errorf("flows %s: flow %d: two addresses of one family and two ports are needed", name, i)
		}
	}
	first := b.next
	for i := range flows {
		b.addFlow(&flows[i])
	}
	if len(flows) > 0 {
		b.bulks = append(b.bulks, bulk{first, uint32(len(flows)), name})
		b.ops = append(b.ops, FlowOp{Proto: UDP, Sock: first, N: uint32(len(flows))})
	}
	return first, nil
}

func (b *Builder) addFlow(f *FlowSpec) {
	id := b.next
	b.next++
	s := b.mut(id)
	b.connSeq++
	*s = Sock{
		Laddr: f.Key.Laddr, Faddr: f.Key.Faddr, Lport: f.Key.Lport, Fport: f.Key.Fport,
		Flags: IsUDP | Connected | Reuseaddr, Worker: f.Worker, IncomingCPU: -1, aux: b.connSeq,
	}
	if !f.Key.Laddr.Is4() {
		s.Flags |= IsV6 | V6Only
	}
	b.infos.mut(id, b.epoch)
	b.udp.add(&b.socks, id, true, b.epoch)
	b.portAdd(s, id)
	b.conn.add(hashTuple(&f.Key), id, b.epoch)
}

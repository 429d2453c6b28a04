package reasm

import "edemux/flowtable"

// peers counts the fragments of each IPv4 source that has queues (struct
// inet_peer): a queue that a source has left behind by more than MaxDist of its
// fragments starts anew, since the identification may have come round.
type peers struct {
	list []peer
	free uint32            // index + 1
	head [peerHeads]uint32 // index + 1
}

const peerHeads = 16

type peer struct {
	addr flowtable.Addr
	next uint32
	refs uint32
	rid  uint32
	vrf  uint16
}

func peerHead(k *key) uint32 { return mix(k.saddr.Lo, uint64(k.vrf)) % peerHeads }

// get returns the peer of k's source with one more reference.
func (p *peers) get(k *key) uint32 {
	h := &p.head[peerHead(k)]
	for i := *h; i != 0; i = p.list[i-1].next {
		if e := &p.list[i-1]; e.addr == k.saddr && e.vrf == k.vrf {
			e.refs++
			return i
		}
	}
	i := p.free
	if i != 0 {
		p.free = p.list[i-1].next
	} else {
		p.list = append(p.list, peer{})
		i = uint32(len(p.list))
	}
	p.list[i-1] = peer{addr: k.saddr, vrf: k.vrf, refs: 1, next: *h}
	*h = i
	return i
}

// put drops a reference; the last one forgets the source.
func (p *peers) put(i uint32) {
	e := &p.list[i-1]
	if e.refs--; e.refs > 0 {
		return
	}
	k := key{saddr: e.addr, vrf: e.vrf}
	l := &p.head[peerHead(&k)]
	for *l != i {
		l = &p.list[*l-1].next
	}
	*l = e.next
	e.next, p.free = p.free, i
}

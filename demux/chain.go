package demux

import (
	"slices"

	"edemux/flowtable"
)

// chains finds the ordered chain of a local (address, port): lhash2 for TCP
// listeners, hash2 for UDP. A chain holds one address and port here; the
// kernel's slots also hold what collides, which matters to nobody but the
// rules that count a slot's sockets.
//
// A chain of one socket is the socket's ID in the index, so that a million of
// them need no further memory.
type chains struct {
	idx   index
	multi paged[chain]
}

// chainMark marks a reference to chains.multi; without it a reference is a SockID.
const chainMark = 1 << 31

// chain is a chain of several sockets as lookups need it.
type chain struct {
	laddr flowtable.Addr // canonical: `::` for every wildcard
	port  uint16
	nconn uint32 // connected sockets in it, found by their four-tuple instead
	head  SockID // first of the chain, connected or not

	// ents are the unconnected sockets that can win a lookup, in chain order;
	// with devs set they are sorted by (device, chain order) instead.
	ents []ent
	devs []devRange
	// all are the unconnected sockets in chain order, for multicast.
	all []SockID
}

// devRange is the part of chain.ents that is bound to one device.
type devRange struct{ bdi, from, to uint32 }

// ent is what a scan looks at: a socket's part of its score, ready to add.
type ent struct {
	sock         SockID
	bdi          uint32
	group        uint32
	order        int32
	cpu          int32
	base4, base6 int8 // score before the CPU term; -1: never for that family
	conn         bool
}

// canonical is the address a chain is filed under: 0.0.0.0, `::` and
// ::ffff:0.0.0.0 share one, which is what makes dual stack a single scan.
func canonical(a flowtable.Addr) flowtable.Addr {
	if a.IsAny() {
		return flowtable.Any6
	}
	return a
}

// entOf prepares socket id for a scan. The terms are those of compute_score in
// inet_hashtables.c, inet6_hashtables.c and both udp.c.
func entOf(id SockID, s *Sock) ent {
	e := ent{sock: id, bdi: s.Bdi, group: s.Group, order: s.order, cpu: s.IncomingCPU, base4: -1, base6: -1}
	v6, bound := s.Flags&IsV6 != 0, s.Bdi != 0
	is4 := s.Flags&V6Only == 0 && (s.Laddr.Is4() || s.wild())
	is6 := v6 && s.Laddr != flowtable.Any4
	if s.Flags&IsUDP == 0 {
		n := int8(1)
		if bound {
			n = 2
		}
		if is4 {
			e.base4 = n
			if !v6 {
				e.base4++
			}
		}
		if is6 {
			e.base6 = n
		}
		return e
	}
	var remote, dev int8
	e.conn = s.Flags&Connected != 0
	if e.conn {
		remote = 1
	}
	if bound {
		dev = 1
	}
	if is4 {
		e.base4 = 1 + 8*remote + 4*dev
		if !v6 {
			e.base4++
		}
	}
	if is6 {
		e.base6 = 2*remote + dev
	}
	return e
}

// score is -1 when the socket does not match. The local address matches by the
// choice of the chain, the remote of a connected one by the caller.
func (e *ent) score(q *Query, accept bool) int {
	n := e.base4
	if q.V6 {
		n = e.base6
	}
	if n < 0 || !boundEq(accept, e.bdi, q.Dif, q.Sdif) {
		return -1
	}
	if e.cpu == q.CPU && e.cpu >= 0 {
		n++
	}
	return int(n)
}

// find returns the reference of the chain of (a, port), 0 when there is none.
func (c *chains) find(socks *paged[Sock], a flowtable.Addr, port uint16) uint32 {
	for p := c.idx.probe(hashAddr(a, port)); ; {
		ref := p.next()
		if ref == 0 {
			return 0
		}
		if ref&chainMark != 0 {
			if m := c.multi.at(ref &^ chainMark); m.laddr == a && m.port == port {
				return ref
			}
		} else if s := socks.at(ref); s.Lport == port && canonical(s.Laddr) == a {
			return ref
		}
	}
}

// rangeOf returns the entries bound to device bdi. Binary search: a thousand
// VRFs with a listener each on one port cost ten steps, not a scan.
func (c *chain) rangeOf(bdi uint32) []ent {
	lo, hi := 0, len(c.devs)
	for lo < hi {
		m := (lo + hi) / 2
		if c.devs[m].bdi < bdi {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo == len(c.devs) || c.devs[lo].bdi != bdi {
		return nil
	}
	return c.ents[c.devs[lo].from:c.devs[lo].to]
}

// scanMax is the longest chain that is scanned rather than split by device.
const scanMax = 6

// freeze makes the lookup form of unconnected sockets given in chain order.
func (c *chain) freeze(socks *paged[Sock], all []SockID) {
	c.all, c.devs = all, nil
	ents := make([]ent, 0, min(len(all), 2*scanMax))
	type class struct {
		bdi          uint32
		cpu          int32
		base4, base6 int8
	}
	var seen map[class]bool
	for _, id := range all {
		e := entOf(id, socks.at(id))
		// A socket behind one of the same device, family and CPU never has the
		// strictly higher score that a scan asks for.
		k := class{e.bdi, e.cpu, e.base4, e.base6}
		if seen[k] {
			continue
		}
		if len(all) > 1 {
			if seen == nil {
				seen = make(map[class]bool)
			}
			seen[k] = true
		}
		ents = append(ents, e)
	}
	c.ents = ents
	if len(ents) <= scanMax {
		return
	}
	slices.SortStableFunc(ents, func(a, b ent) int { return int(int64(a.bdi) - int64(b.bdi)) })
	for i := range ents {
		if i == 0 || ents[i].bdi != ents[i-1].bdi {
			c.devs = append(c.devs, devRange{ents[i].bdi, uint32(i), uint32(i)})
		}
		c.devs[len(c.devs)-1].to = uint32(i + 1)
	}
}

// cursor walks up to three lists of entries as one, in chain order.
type cursor struct {
	lists [3][]ent
	n     int
}

func (c *cursor) add(l []ent) {
	if len(l) > 0 {
		c.lists[c.n] = l
		c.n++
	}
}

// open positions the cursor before the unconnected entries of m that a packet
// with these devices can match.
func (c *cursor) open(m *chain, q *Query) {
	c.n = 0
	if m.devs == nil {
		c.add(m.ents)
		return
	}
	c.add(m.rangeOf(0))
	if q.Dif != 0 {
		c.add(m.rangeOf(q.Dif))
	}
	if q.Sdif != 0 && q.Sdif != q.Dif {
		c.add(m.rangeOf(q.Sdif))
	}
}

// next returns the entry nearest the head, nil at the end.
func (c *cursor) next() *ent {
	if c.n == 0 {
		return nil
	}
	k := 0
	for i := 1; i < c.n; i++ {
		if c.lists[i][0].order < c.lists[k][0].order {
			k = i
		}
	}
	e := &c.lists[k][0]
	if c.lists[k] = c.lists[k][1:]; len(c.lists[k]) == 0 {
		c.n--
		c.lists[k] = c.lists[c.n]
	}
	return e
}

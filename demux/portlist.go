package demux

import (
	"slices"
	"sort"
)

// portSocks are the bound sockets of one port, in the order of bind.
type portSocks struct{ ids []SockID }

func portsOf(s *Sock) int {
	if s.Flags&IsUDP != 0 {
		return 1
	}
	return 0
}

// each calls f for the sockets in the order of the kernel's slot until it
// returns false: the most recently bound first, but IPv6 reuseport sockets
// behind all others in the order of bind (sk_add_node_rcu).
func (p *portSocks) each(socks *paged[Sock], f func(SockID) bool) {
	tail := func(id SockID) bool { return socks.at(id).Flags&(IsV6|Reuseport) == IsV6|Reuseport }
	for i := len(p.ids) - 1; i >= 0; i-- {
		if !tail(p.ids[i]) && !f(p.ids[i]) {
			return
		}
	}
	for _, id := range p.ids {
		if tail(id) && !f(id) {
			return
		}
	}
}

func (b *Builder) portAdd(s *Sock, id SockID) {
	m := b.ports[portsOf(s)]
	p := m[s.Lport]
	if p == nil {
		p = new(portSocks)
		m[s.Lport] = p
	}
	p.ids = append(p.ids, id)
	b.portTouch(s)
}

func (b *Builder) portDel(s *Sock, id SockID) {
	m := b.ports[portsOf(s)]
	p := m[s.Lport]
	i := sort.Search(len(p.ids), func(i int) bool { return p.ids[i] >= id })
	p.ids = slices.Delete(p.ids, i, i+1)
	if len(p.ids) == 0 {
		delete(m, s.Lport)
	}
	b.portTouch(s)
}

func (b *Builder) portTouch(s *Sock) {
	if s.Flags&IsUDP != 0 && (len(b.dirty) == 0 || b.dirty[len(b.dirty)-1] != s.Lport) {
		b.dirty = append(b.dirty, s.Lport)
	}
}

// freezePorts rewrites the slots of the UDP ports that changed.
func (b *Builder) freezePorts() {
	slices.Sort(b.dirty)
	for _, port := range slices.Compact(b.dirty) {
		ref := b.prim.mut(uint32(port), b.epoch)
		p := b.ports[1][port]
		if p == nil {
			*ref = 0
			continue
		}
		if len(p.ids) == 1 {
			*ref = p.ids[0]
			continue
		}
		i, ok := b.primOf[port]
		if !ok {
			i = b.primLen
			b.primLen++
			b.primOf[port] = i
		}
		m := b.prims.mut(i, b.epoch)
		*m = primary{}
		if len(p.ids) <= primaryMax {
			p.each(&b.socks, func(id SockID) bool {
				m.ids[m.n] = id
				m.n++
				return true
			})
		}
		m.n = uint32(len(p.ids))
		*ref = i | chainMark
	}
	b.dirty = b.dirty[:0]
}

package demux

import (
	"slices"
	"sort"

	"edemux/flowtable"
)

// book is the Builder's side of chains: which sockets have a local (address,
// port), in order. An ordered book numbers its sockets (Sock.order); head
// insertion takes ever lower numbers, tail insertion ever higher ones, so
// that merging parts of a chain restores its order.
type book struct {
	chains
	lists   []list
	free    []uint32 // unused elements of lists
	dirty   []uint32 // lists changed since the last publish
	lo, hi  int32
	ordered bool
}

// list is a chain of several sockets.
type list struct {
	laddr flowtable.Addr
	port  uint16
	dirty bool
	// heads are unconnected sockets, the last one at the head of the chain;
	// tails follow behind them, the last one at the end.
	heads, tails []SockID
	// conn are the connected ones, the last one nearest the head.
	conn []SockID
}

func (l *list) len() int { return len(l.heads) + len(l.tails) + len(l.conn) }

// add enters socket id at the head or the tail of its chain.
func (k *book) add(socks *paged[Sock], id SockID, head bool, epoch uint64) {
	s := socks.at(id)
	if k.ordered {
		s = socks.mut(id, epoch)
		if head {
			k.lo--
			s.order = k.lo
		} else {
			k.hi++
			s.order = k.hi
		}
	}
	k.insert(socks, id, s, head, epoch)
}

// insert enters a socket that has its number already.
func (k *book) insert(socks *paged[Sock], id SockID, s *Sock, head bool, epoch uint64) {
	a := canonical(s.Laddr)
	ref := k.find(socks, a, s.Lport)
	if ref == 0 {
		k.idx.add(hashAddr(a, s.Lport), id, epoch)
		return
	}
	if ref&chainMark == 0 {
		i := k.newList(a, s.Lport, epoch)
		k.idx.replace(hashAddr(a, s.Lport), ref, i|chainMark, epoch)
		o := socks.at(ref)
		k.lists[i].put(socks, ref, o, o.order < 0)
		ref = i | chainMark
	}
	i := ref &^ chainMark
	k.lists[i].put(socks, id, s, head)
	k.touch(i)
}

func (k *book) newList(a flowtable.Addr, port uint16, epoch uint64) uint32 {
	var i uint32
	if n := len(k.free); n > 0 {
		i, k.free = k.free[n-1], k.free[:n-1]
	} else {
		i = uint32(len(k.lists))
		k.lists = append(k.lists, list{})
	}
	k.lists[i] = list{laddr: a, port: port}
	*k.multi.mut(i, epoch) = chain{laddr: a, port: port}
	return i
}

// touch marks list i as changed.
func (k *book) touch(i uint32) {
	if !k.lists[i].dirty {
		k.lists[i].dirty = true
		k.dirty = append(k.dirty, i)
	}
}

// put places a socket by its order number: almost always at the end.
func (l *list) put(socks *paged[Sock], id SockID, s *Sock, head bool) {
	switch {
	case s.Flags&Connected != 0:
		i := len(l.conn)
		for i > 0 && socks.at(l.conn[i-1]).order < s.order {
			i--
		}
		l.conn = slices.Insert(l.conn, i, id)
	case head:
		l.heads = append(l.heads, id)
	default:
		l.tails = append(l.tails, id)
	}
}

// remove takes socket id, which has the state s still, out of its chain.
func (k *book) remove(socks *paged[Sock], id SockID, s *Sock, epoch uint64) {
	a := canonical(s.Laddr)
	ref := k.find(socks, a, s.Lport)
	if ref == id {
		k.idx.replace(hashAddr(a, s.Lport), id, 0, epoch)
		return
	}
	i := ref &^ chainMark
	l := &k.lists[i]
	l.cut(socks, id, s, k.ordered)
	if l.len() == 0 {
		k.idx.replace(hashAddr(a, s.Lport), ref, 0, epoch)
		*k.multi.mut(i, epoch) = chain{}
		k.lists[i] = list{dirty: l.dirty}
		k.free = append(k.free, i)
		return
	}
	k.touch(i)
}

// cut removes id from the part of the list that holds it.
func (l *list) cut(socks *paged[Sock], id SockID, s *Sock, ordered bool) {
	for _, part := range []*[]SockID{&l.conn, &l.heads, &l.tails} {
		i := -1
		if ordered {
			down := part != &l.tails
			i = sort.Search(len(*part), func(i int) bool {
				o := socks.at((*part)[i]).order
				return down && o <= s.order || !down && o >= s.order
			})
			if i == len(*part) || (*part)[i] != id {
				i = -1
			}
		} else {
			i = slices.Index(*part, id)
		}
		if i >= 0 {
			*part = slices.Delete(*part, i, i+1)
			return
		}
	}
}

// each calls f for the sockets of (a, port) in chain order until it returns
// false.
func (k *book) each(socks *paged[Sock], a flowtable.Addr, port uint16, f func(SockID) bool) {
	ref := k.find(socks, canonical(a), port)
	if ref == 0 {
		return
	}
	if ref&chainMark == 0 {
		f(ref)
		return
	}
	l := &k.lists[ref&^chainMark]
	un, conn := len(l.heads)-1, len(l.conn)-1
	next := func(conn int, order int32) bool { // a connected one comes first
		return conn >= 0 && socks.at(l.conn[conn]).order < order
	}
	for ; un >= 0; un-- {
		for o := socks.at(l.heads[un]).order; next(conn, o); conn-- {
			if !f(l.conn[conn]) {
				return
			}
		}
		if !f(l.heads[un]) {
			return
		}
	}
	for _, id := range l.tails {
		for o := socks.at(id).order; next(conn, o); conn-- {
			if !f(l.conn[conn]) {
				return
			}
		}
		if !f(id) {
			return
		}
	}
	for ; conn >= 0; conn-- {
		if !f(l.conn[conn]) {
			return
		}
	}
}

// freeze rewrites the lookup form of every list that changed.
func (k *book) freeze(socks *paged[Sock], epoch uint64) {
	for _, i := range k.dirty {
		l := &k.lists[i]
		l.dirty = false
		if l.len() == 0 {
			continue
		}
		c := k.multi.mut(i, epoch)
		*c = chain{laddr: l.laddr, port: l.port, nconn: uint32(len(l.conn))}
		all := slices.Clone(l.heads)
		slices.Reverse(all)
		all = append(all, l.tails...)
		c.freeze(socks, all)
		if len(all) > 0 {
			c.head = all[0]
		}
		if n := len(l.conn); n > 0 {
			if id := l.conn[n-1]; c.head == 0 || socks.at(id).order < socks.at(c.head).order {
				c.head = id
			}
		}
	}
	k.dirty = k.dirty[:0]
}

// snapshot returns what a View keeps.
func (k *book) snapshot() chains { return chains{k.idx.snapshot(), k.multi.snapshot()} }

package demux

import (
	"slices"
	"syscall"

	"edemux/demux/cbpf"
)

// group is struct sock_reuseport.
type group struct {
	name     string
	prog     *cbpf.Program
	socks    []SockID // live members by index
	closed   []SockID
	max      int // room: socks + closed
	bindAny  bool
	hasConns bool
	dirty    bool
}

const (
	groupStart = 128   // INIT_SOCKS
	groupMax   = 32768 // the doubling after this one would pass U16_MAX
)

// newGroup makes an empty group and returns its index.
func (b *Builder) newGroup(name string, bindAny bool) int {
	b.groups = append(b.groups, &group{name: name, max: groupStart, bindAny: bindAny})
	b.v.groups = append(b.v.groups, nil)
	return len(b.groups) - 1
}

// groupFor finds the group that socket id joins at bind (UDP) or may bring with
// it (a program attached before bind), or makes it. -1: none. Nothing is
// entered yet.
func (b *Builder) groupFor(id SockID, s *Sock, sp *Spec) (int, syscall.Errno) {
	if s.Flags&Reuseport == 0 || s.Flags&IsUDP == 0 && sp.Prog == nil {
		return -1, 0
	}
	name := sp.GroupName
	if name == "" {
		name = sp.Name
	}
	if s.Flags&IsUDP != 0 {
		if other := b.udpPeer(id, s, sp.UID); other != 0 {
			g := b.groupOf(other)
			if !b.room(g) {
				return 0, syscall.EADDRINUSE
			}
			return g, 0
		}
	}
	g := b.newGroup(name, s.wild())
	b.groups[g].prog = sp.Prog
	return g, 0
}

// groupOf returns the group of a member, giving it one of its own when it has
// none (a connected socket left its group and is adopted again).
func (b *Builder) groupOf(id SockID) int {
	s := b.socks.at(id)
	if s.Group != 0 {
		return int(s.Group - 1)
	}
	g := b.newGroup(b.Name(id), s.wild())
	b.join(g, id)
	return g
}

// udpPeer is the search of udp_reuseport_add_sock: of the sockets with the
// same identity the first in the port's slot, connected or not: for IPv4 the
// one bound last, for IPv6 the one bound first.
func (b *Builder) udpPeer(id SockID, s *Sock, uid uint32) (peer SockID) {
	v6 := s.Flags&IsV6 != 0
	better := func(o SockID) bool {
		return o != id && (peer == 0 || v6 == (o < peer)) && b.sameIdentity(o, s, uid)
	}
	ref := b.udp.find(&b.socks, canonical(s.Laddr), s.Lport)
	switch {
	case ref == 0:
		return 0
	case ref&chainMark == 0:
		if better(ref) {
			return ref
		}
		return 0
	}
	l := &b.udp.lists[ref&^chainMark]
	for i := len(l.heads) - 1; i >= 0 && peer == 0; i-- { // IPv4: in the order of bind
		if better(l.heads[i]) {
			peer = l.heads[i]
		}
	}
	for i := 0; i < len(l.tails) && peer == 0; i++ { // IPv6 likewise
		if better(l.tails[i]) {
			peer = l.tails[i]
		}
	}
	for _, o := range l.conn {
		if better(o) {
			peer = o
		}
	}
	return peer
}

// sameIdentity: family, v6only, address, port, device, user, SO_REUSEPORT.
func (b *Builder) sameIdentity(id SockID, s *Sock, uid uint32) bool {
	const same = IsV6 | V6Only
	o := b.socks.at(id)
	return o.Flags&Reuseport != 0 && o.Flags&same == s.Flags&same && o.Lport == s.Lport && o.Bdi == s.Bdi &&
		b.uid(id) == uid && overlap(s, o, false, false)
}

// room is reuseport_grow: double while that fits; at the limit a closed member
// gives way.
func (b *Builder) room(gi int) bool {
	g := b.groups[gi]
	if len(g.socks)+len(g.closed) < g.max {
		return true
	}
	if g.max < groupMax {
		g.max *= 2
		return true
	}
	if len(g.closed) == 0 {
		return false
	}
	b.forget(g.closed[len(g.closed)-1])
	return true
}

// join is __reuseport_add_sock.
func (b *Builder) join(gi int, id SockID) {
	g := b.groups[gi]
	g.socks = append(g.socks, id)
	b.mut(id).Group = uint32(gi + 1)
	b.groupTouch(gi)
}

// leave is reuseport_detach_sock: the last member moves into the hole.
func (b *Builder) leave(id SockID) {
	s := b.mut(id)
	gi := int(s.Group) - 1
	if gi < 0 {
		return
	}
	s.Group = 0
	g := b.groups[gi]
	g.socks = swapOut(g.socks, id)
	g.closed = swapOut(g.closed, id)
	b.groupTouch(gi)
	if len(g.socks) == 0 {
		b.dissolve(gi)
	}
}

func swapOut(l []SockID, id SockID) []SockID {
	i := slices.Index(l, id)
	if i < 0 {
		return l
	}
	last := len(l) - 1
	l[i] = l[last]
	return l[:last]
}

// dissolve ends a group without live members. Closed ones can not come back
// (nothing listens again here), so they are forgotten with it.
func (b *Builder) dissolve(gi int) {
	for _, id := range b.groups[gi].closed {
		b.bury(id)
	}
	if b.groups[gi].prog != nil && b.v.groups[gi] != nil && b.v.groups[gi].Prog != nil {
		b.progs--
	}
	b.groups[gi] = nil
	b.v.groups[gi] = nil
}

func (b *Builder) groupTouch(gi int) {
	if g := b.groups[gi]; !g.dirty {
		g.dirty = true
		b.grown = append(b.grown, gi)
	}
}

// freezeGroups rewrites the lookup form of the groups that changed.
func (b *Builder) freezeGroups() {
	for _, gi := range b.grown {
		g := b.groups[gi]
		if g == nil {
			continue
		}
		g.dirty = false
		v := &Group{Name: g.name, Prog: g.prog, socks: slices.Clone(g.socks), closed: slices.Clone(g.closed),
			bindAny: g.bindAny, hasConns: g.hasConns}
		conns := 0
		for _, id := range g.socks {
			s := b.socks.at(id)
			if s.IncomingCPU >= 0 {
				v.cpus++
			}
			if s.Flags&Connected != 0 {
				conns++
			}
		}
		for _, id := range g.closed {
			if b.socks.at(id).IncomingCPU >= 0 {
				v.cpus++
			}
		}
		v.plain = v.cpus == 0 && conns == 0
		if old := b.v.groups[gi]; old != nil && old.Prog != nil {
			b.progs--
		}
		if v.Prog != nil {
			b.progs++
		}
		b.v.groups[gi] = v
	}
	b.grown = b.grown[:0]
	b.v.HasPrograms = b.progs > 0
}

// Attach is SO_ATTACH_REUSEPORT_CBPF: the program governs the whole group.
func (b *Builder) Attach(id SockID, p *cbpf.Program) error {
	const op = "attach program"
	s := b.sock(id)
	if s == nil {
		return &Error{b.Name(id), op, syscall.EBADF, ""}
	}
	if s.Group == 0 {
		if s.Flags&Reuseport == 0 || s.Flags&(IsUDP|Connected|Listening) != 0 {
			return &Error{b.Name(id), op, syscall.EINVAL, "not in a reuseport group"}
		}
		b.join(b.newGroup(b.Name(id), s.wild()), id) // TCP before listen: a group of its own
		s = b.socks.at(id)
	}
	gi := int(s.Group - 1)
	b.groups[gi].prog = p
	b.groupTouch(gi)
	return nil
}

// Detach is SO_DETACH_REUSEPORT_BPF: the hash chooses again.
func (b *Builder) Detach(id SockID) error {
	const op = "detach program"
	s := b.sock(id)
	switch {
	case s == nil:
		return &Error{b.Name(id), op, syscall.EBADF, ""}
	case s.Group == 0 && s.Flags&Reuseport == 0:
		return &Error{b.Name(id), op, syscall.EINVAL, "not in a reuseport group"}
	case s.Group == 0 || b.groups[s.Group-1].prog == nil:
		return &Error{b.Name(id), op, syscall.ENOENT, "no program is attached"}
	}
	b.groups[s.Group-1].prog = nil
	b.groupTouch(int(s.Group - 1))
	return nil
}

// SetIncomingCPU is SO_INCOMING_CPU; -1 takes the setting back.
func (b *Builder) SetIncomingCPU(id SockID, cpu int32) error {
	s := b.sock(id)
	if s == nil {
		return &Error{b.Name(id), "set SO_INCOMING_CPU", syscall.EBADF, ""}
	}
	s = b.mut(id)
	s.IncomingCPU = max(cpu, -1)
	if s.Group != 0 {
		b.groupTouch(int(s.Group - 1))
	}
	for _, k := range []*book{&b.udp, &b.listen} {
		if ref := k.find(&b.socks, canonical(s.Laddr), s.Lport); ref&chainMark != 0 {
			k.touch(ref &^ chainMark)
		}
	}
	return nil
}

// GroupMembers returns the members of the group of id by index, nil without one.
func (b *Builder) GroupMembers(id SockID) []SockID {
	if s := b.sock(id); s != nil && s.Group != 0 {
		return slices.Clone(b.groups[s.Group-1].socks)
	}
	return nil
}

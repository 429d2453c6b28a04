package demux

import (
	"net/netip"
	"slices"
	"syscall"

	"edemux/flowtable"
)

// Listen is inet_csk_listen_start: the port is asked for again, now as a
// listener, then the socket joins its group and its chain.
func (b *Builder) Listen(id SockID, backlog int) error {
	s := b.sock(id)
	fail := func(e syscall.Errno, with string) error { return &Error{b.Name(id), "listen", e, with} }
	switch {
	case s == nil:
		return fail(syscall.EBADF, "")
	case s.Flags&IsUDP != 0:
		return fail(syscall.EOPNOTSUPP, "")
	case s.Flags&Connected != 0:
		return fail(syscall.EINVAL, "connected")
	case s.Flags&Listening != 0:
		b.mut(id).aux = int32(backlog)
		return nil
	}
	try := *s
	try.Flags |= Listening
	if in := b.tcpConflict(&try, b.uid(id), id, s.Group == 0); in != 0 {
		return fail(syscall.EADDRINUSE, "socket "+b.Name(in))
	}
	gi := -1
	if s.Flags&Reuseport != 0 {
		if peer := b.listenPeer(id, s); peer != 0 {
			gi = b.groupOf(peer)
			if old := s.Group; old != 0 && len(b.groups[old-1].socks) != 1 {
				return fail(syscall.EBUSY, "in another group")
			}
			if !b.room(gi) {
				return fail(syscall.ENOMEM, "the group is full")
			}
		}
	}
	b.own(&try, b.uid(id))
	b.buckets[b.bucketOf(&try)].owners--
	s = b.mut(id)
	s.Flags |= Listening
	s.aux = int32(backlog)
	if s.Flags&Reuseport != 0 {
		if gi >= 0 {
			b.leave(id)
		} else if s.Group == 0 {
			gi = b.newGroup(b.groupName(id), s.wild())
		}
		if gi >= 0 {
			b.join(gi, id)
		}
	}
	b.listen.add(&b.socks, id, s.Flags&(IsV6|Reuseport) != IsV6|Reuseport, b.epoch)
	return nil
}

// listenPeer is the search of inet_reuseport_add_sock in the chain of
// listeners: same identity, same bind bucket.
func (b *Builder) listenPeer(id SockID, s *Sock) (peer SockID) {
	uid, dom := b.uid(id), b.l3mdev(s)
	b.listen.each(&b.socks, s.Laddr, s.Lport, func(o SockID) bool {
		if o != id && b.sameIdentity(o, s, uid) && b.l3mdev(b.socks.at(o)) == dom {
			peer = o
		}
		return peer == 0
	})
	return peer
}

// Connect gives a socket its remote. laddr is the address that the route gives
// a wildcard-bound one; it must be valid then. UDP: __ip4_datagram_connect and
// udp_lib_hash4. A UDP socket may connect again.
func (b *Builder) Connect(id SockID, remote netip.AddrPort, laddr netip.Addr) error {
	s := b.sock(id)
	fail := func(e syscall.Errno, with string) error {
		return &Error{b.Name(id), "connect " + remote.String(), e, with}
	}
	if s == nil {
		return fail(syscall.EBADF, "")
	}
	if s.Flags&Listening != 0 || s.Flags&Connected != 0 && s.Flags&IsUDP == 0 {
		return fail(syscall.EISCONN, "")
	}
	to := addrOf(remote.Addr())
	local, errno, why := connectLocal(s, remote.Addr(), laddr)
	if errno != 0 {
		return fail(errno, why)
	}
	if s.Flags&IsUDP == 0 {
		return b.connectTCP(id, flowtable.Key{Laddr: local, Lport: s.Lport, Faddr: to, Fport: remote.Port()}, fail)
	}
	b.connectUDP(id, local, to, remote.Port())
	return nil
}

// connectLocal checks the families and finds the local address.
func connectLocal(s *Sock, to, route netip.Addr) (flowtable.Addr, syscall.Errno, string) {
	mapped := to.Is4() || to.Is4In6()
	switch {
	case s.Flags&IsV6 == 0 && !to.Is4():
		return flowtable.Addr{}, syscall.EAFNOSUPPORT, "address of another family"
	case s.Flags&IsV6 != 0 && mapped && s.Flags&V6Only != 0:
		return flowtable.Addr{}, syscall.ENETUNREACH, "IPv6 only"
	case s.Flags&IsV6 != 0 && !mapped && s.Laddr.Is4():
		return flowtable.Addr{}, syscall.EAFNOSUPPORT, "bound to a v4-mapped address"
	case isLoopback4(s.Laddr) && mapped && !isLoopback4(addrOf(to)):
		return flowtable.Addr{}, syscall.EINVAL, "bound to a loopback address"
	case !s.wild():
		return s.Laddr, 0, ""
	case !route.IsValid() || addrOf(route).Is4() != mapped:
		return flowtable.Addr{}, syscall.ENETUNREACH, "no local address of that family"
	}
	return addrOf(route), 0, ""
}

// isLoopback4 reports whether a is in 127.0.0.0/8.
func isLoopback4(a flowtable.Addr) bool { return a.Is4() && a.As4()>>24 == 127 }

func (b *Builder) connectUDP(id SockID, local, to flowtable.Addr, fport uint16) {
	s := b.mut(id)
	old := *s
	again, moved := old.Flags&Connected != 0, local != old.Laddr
	if again {
		b.unconnect(id, s)
	}
	// A wildcard-bound member leaves its group before has_conns is set, a
	// member with an address after it.
	if moved {
		b.leave(id)
	} else if s.Group != 0 {
		b.groups[s.Group-1].hasConns = true
		b.groupTouch(int(s.Group - 1))
		if !again {
			b.leave(id)
		}
	}
	b.udp.remove(&b.socks, id, &old, b.epoch)
	s = b.mut(id)
	s.Laddr, s.Faddr, s.Fport = local, to, fport
	s.Flags |= Connected
	b.hash4(id, s, &old)
	if moved {
		b.udp.add(&b.socks, id, true, b.epoch) // udp_lib_rehash: always at the head
	} else {
		b.udp.insert(&b.socks, id, s, s.order < 0, b.epoch)
	}
	k := s.Key()
	b.conn.add(hashTuple(&k), id, b.epoch)
	if s.Flags&stale4 == 0 {
		b.ops = append(b.ops, FlowOp{Proto: UDP, VRF: s.VRF, Sock: id, N: 1})
	}
}

// hash4 is udp_lib_hash4: only the first connect files a socket in the
// four-tuple table. After another one it is found there only if the remote is
// the first one again, and otherwise by the scan.
func (b *Builder) hash4(id SockID, s, old *Sock) {
	k := s.Key()
	if old.Flags&Connected == 0 {
		b.connSeq++
		s.aux = b.connSeq
		return
	}
	first, ok := b.hashed4[id]
	if !ok {
		first = old.Key()
		b.hashed4[id] = first
	}
	s.Flags &^= stale4
	if k != first {
		s.Flags |= stale4
	}
}

// unconnect takes a connected UDP socket out of the four-tuple table.
func (b *Builder) unconnect(id SockID, s *Sock) {
	k := s.Key()
	b.conn.replace(hashTuple(&k), id, 0, b.epoch)
	if s.Flags&stale4 != 0 {
		return
	}
	b.ops = append(b.ops, FlowOp{Delete: true, Proto: UDP, VRF: s.VRF, Sock: id, N: 1, Bdi: s.Bdi, Key: k})
}

func (b *Builder) connectTCP(id SockID, k flowtable.Key, fail func(syscall.Errno, string) error) error {
	s := b.socks.at(id)
	var in SockID
	b.bound.each(&b.socks, k.Laddr, k.Lport, func(o SockID) bool {
		// __inet_check_established: dif is the socket's own device.
		if p := b.socks.at(o); p.Flags&Connected != 0 && p.Key() == k &&
			boundEq(b.v.TCPL3mdevAccept, p.Bdi, s.Bdi, b.l3mdev(s)) {
			in = o
		}
		return in == 0
	})
	if in != 0 {
		return fail(syscall.EADDRNOTAVAIL, "socket "+b.Name(in))
	}
	b.bound.remove(&b.socks, id, b.socks.at(id), b.epoch)
	s = b.mut(id)
	s.Laddr, s.Faddr, s.Fport = k.Laddr, k.Faddr, k.Fport
	s.Flags |= Connected
	b.bound.add(&b.socks, id, true, b.epoch)
	b.ops = append(b.ops, FlowOp{Proto: TCP, VRF: s.VRF, Sock: id, N: 1})
	return nil
}

// Join adds a multicast membership: IP_ADD_MEMBERSHIP, or with sources
// IP_ADD_SOURCE_MEMBERSHIP, and the IPv6 twins. Sources are added to those of
// an earlier call, and turn a membership for any source into one for these
// (ip_mc_source).
func (b *Builder) Join(id SockID, j Join) error {
	s := b.sock(id)
	fail := func(e syscall.Errno, with string) error {
		return &Error{b.Name(id), "join " + j.Group.String(), e, with}
	}
	switch {
	case s == nil:
		return fail(syscall.EBADF, "")
	case !IsMulticast(j.Group) || !j.Group.Is4() && s.Flags&IsV6 == 0:
		return fail(syscall.EINVAL, "")
	case b.v.Iface(j.Ifindex) == nil:
		return fail(syscall.ENODEV, "")
	}
	old := *b.infos.at(id)
	if old == nil {
		old = &Info{Name: b.Name(id)}
	}
	info := *old // Views hold the old one
	info.Joins = slices.Clone(old.Joins)
	at := slices.IndexFunc(old.Joins, func(o Join) bool { return o.Group == j.Group && o.Ifindex == j.Ifindex })
	if at < 0 {
		at = len(info.Joins)
		info.Joins = append(info.Joins, Join{Group: j.Group, Ifindex: j.Ifindex})
	} else if len(j.Include) == 0 {
		return fail(syscall.EADDRINUSE, "joined already")
	}
	m := &info.Joins[at]
	m.Include = slices.Clone(m.Include)
	for _, src := range j.Include {
		if slices.Contains(m.Include, src) {
			return fail(syscall.EADDRNOTAVAIL, "the source is there already")
		}
		m.Include = append(m.Include, src)
	}
	if at < len(old.Joins) {
		b.countJoin(&old.Joins[at], -1)
	}
	b.countJoin(m, 1)
	*b.infos.mut(id, b.epoch) = &info
	b.mut(id).Flags |= HasJoins
	return nil
}

// countJoin keeps the memberships of devices: one per source, or for any.
func (b *Builder) countJoin(j *Join, n int) {
	b.reJoin = true
	sources := j.Include
	if len(sources) == 0 {
		sources = []flowtable.Addr{{}}
	}
	for _, src := range sources {
		m := member{j.Ifindex, j.Group, src}
		if b.members[m] += n; b.members[m] == 0 {
			delete(b.members, m)
		}
	}
}

// Close ends a socket. Its ID still leads to its name, worker and VRF. A listener of a group moves to the group's closed
// section when tcp_migrate_req lets its requests migrate. A rule that names
// the group of the socket goes on with another member.
func (b *Builder) Close(id SockID) {
	s := b.sock(id)
	if s == nil {
		return
	}
	gi := int(s.Group) - 1
	old := *s
	if old.Flags&HasJoins != 0 {
		for _, j := range (*b.infos.at(id)).Joins {
			b.countJoin(&j, -1)
		}
	}
	if old.Flags&IsUDP != 0 {
		if old.Flags&Connected != 0 {
			b.unconnect(id, s)
			delete(b.hashed4, id)
		}
		b.udp.remove(&b.socks, id, &old, b.epoch)
	} else {
		b.bound.remove(&b.socks, id, &old, b.epoch)
		b.disown(&old)
		if old.Flags&Listening != 0 {
			b.listen.remove(&b.socks, id, &old, b.epoch)
		} else if old.Flags&Connected != 0 {
			b.ops = append(b.ops, FlowOp{Delete: true, Proto: TCP, VRF: old.VRF, Sock: id, N: 1, Bdi: old.Bdi, Key: old.Key()})
		}
	}
	b.portDel(&old, id)
	delete(b.names, b.Name(id))
	if old.Flags&Listening != 0 && gi >= 0 && b.v.VRFs[old.VRF].Sysctl.TCPMigrateReq {
		b.stopListening(gi, id)
	} else {
		b.leave(id)
		b.bury(id)
	}
	b.retarget(id, gi)
}

// stopListening is reuseport_stop_listen_sock: the listener stays known to its
// group, so that its requests find another member.
func (b *Builder) stopListening(gi int, id SockID) {
	g := b.groups[gi]
	cpu := b.socks.at(id).IncomingCPU
	b.bury(id)
	s := b.mut(id)
	s.Group, s.IncomingCPU = uint32(gi+1), cpu
	g.socks = swapOut(g.socks, id)
	g.closed = append(g.closed, id)
	b.groupTouch(gi)
	if len(g.socks) == 0 {
		b.dissolve(gi)
	}
}

// forget drops a closed listener that its group has no room for.
func (b *Builder) forget(id SockID) {
	b.leave(id)
	b.bury(id)
}

// bury leaves of a closed socket what the flows that it accepted still need:
// whose they are. In Linux they are sockets of their own by then.
func (b *Builder) bury(id SockID) {
	s := b.mut(id)
	*s = Sock{Flags: s.Flags&(IsUDP|IsV6) | Closed, VRF: s.VRF, Bdi: s.Bdi, Worker: s.Worker, IncomingCPU: -1}
}

// retarget moves the rules that name the group of a closed socket to its first
// member.
func (b *Builder) retarget(id SockID, gi int) {
	refs := b.ruleRef[id]
	if refs == nil || gi < 0 || b.groups[gi] == nil {
		return
	}
	to := b.groups[gi].socks[0]
	for _, i := range refs {
		b.rules[i].Socket = to
	}
	delete(b.ruleRef, id)
	b.ruleRef[to] = append(b.ruleRef[to], refs...)
	b.reAim = true
}

// groupName is what a group founded by id is called.
func (b *Builder) groupName(id SockID) string {
	if n := (*b.infos.at(id)).group; n != "" {
		return n
	}
	return b.Name(id)
}

package demux

import (
	"net/netip"
	"slices"
	"strings"
	"syscall"

	"edemux/flowtable"
)

// prepare is socket() with its options and the address checks of inet_bind and
// __inet6_bind.
func (o *opening) prepare() error {
	b, sp := o.b, o.sp
	if _, ok := b.names[sp.Name]; ok {
		return o.fail("open", syscall.EEXIST, "the name is taken")
	}
	at := sp.Bind.Addr()
	if !at.IsValid() {
		at = sp.Connect.Addr()
	}
	s := Sock{IncomingCPU: sp.IncomingCPU, Worker: sp.Worker, Lport: sp.Bind.Port()}
	if sp.Family == 6 || sp.Family == 0 && !at.Is4() {
		s.Flags |= IsV6
	}
	if s.Flags&IsV6 == 0 {
		s.Laddr = flowtable.Any4
	}
	if sp.Bind.IsValid() {
		if sp.Bind.Addr().Is4() != (s.Flags&IsV6 == 0) {
			return o.fail(o.bindOp(), syscall.EAFNOSUPPORT, "address of another family")
		}
		s.Laddr = addrOf(sp.Bind.Addr())
	}
	for _, f := range []struct {
		on   bool
		flag Flags
	}{
		{sp.Proto == UDP, IsUDP}, {sp.V6Only && s.Flags&IsV6 != 0, V6Only}, {sp.Reuseport, Reuseport},
		{sp.Reuseaddr, Reuseaddr}, {sp.NoCheck6Rx, NoCheck6Rx}, {sp.McastNotAll, McastNotAll},
	} {
		if f.on {
			s.Flags |= f.flag
		}
	}
	o.s = s
	if err := o.device(); err != nil {
		return err
	}
	if sp.Prog != nil && !sp.Reuseport {
		return o.fail("attach program", syscall.EINVAL, "SO_REUSEPORT is not set")
	}
	return o.address()
}

// device is SO_BINDTODEVICE.
func (o *opening) device() error {
	if o.sp.Dev == "" {
		return nil
	}
	if i := o.b.v.IfaceByName(o.sp.Dev); i != nil {
		o.s.Bdi, o.s.VRF = i.Index, i.VRF
		return nil
	}
	if v := o.b.v.VRFByName(o.sp.Dev); v != nil && v.Ifindex != 0 {
		o.s.Bdi, o.s.VRF = v.Ifindex, v.Index
		return nil
	}
	return o.fail("bind to device "+o.sp.Dev, syscall.ENODEV, "")
}

// address checks the local address. A specific IPv6 one implies v6only.
func (o *opening) address() error {
	a, s := o.s.Laddr, &o.s
	if a.Is4() && s.Flags&IsV6 != 0 && s.Flags&V6Only != 0 {
		return o.fail(o.bindOp(), syscall.EINVAL, "IPV6_V6ONLY and a v4-mapped address")
	}
	if a.IsAny() {
		return nil
	}
	if !a.Is4() {
		s.Flags |= V6Only
		if a.Hi>>54 == 0xfe80>>6 && s.Bdi == 0 {
			return o.fail(o.bindOp(), syscall.EINVAL, "a link-local address needs a device")
		}
		if IsMulticast(a) && o.sp.Proto == TCP {
			return o.fail(o.bindOp(), syscall.EINVAL, "multicast address")
		}
	}
	v := &o.b.v.VRFs[s.VRF]
	if a == (flowtable.Addr{Lo: 1}) {
		// ipv6_chk_addr: the address must be one of the device's.
		if i := o.b.v.Iface(s.Bdi); i == nil || i.Loopback || !v.every && v.Local(a) {
			return nil
		}
		return o.fail(o.bindOp(), syscall.EADDRNOTAVAIL, "not an address of "+o.sp.Dev)
	}
	loop := a.Is4() && a.As4()>>24 == 127
	if loop || IsMulticast(a) || v.Local(a) || slices.Contains(v.broadcast, a) || a == flowtable.V4(lbcast) {
		return nil
	}
	return o.fail(o.bindOp(), syscall.EADDRNOTAVAIL, "not local in "+v.Name)
}

func (o *opening) bindOp() string {
	return "bind " + protoName(o.sp.Proto) + " " + sockAddr(o.s.Laddr, o.s.Lport, o.s.Flags)
}

func protoName(p uint8) string {
	if p == TCP {
		return "tcp"
	}
	return "udp"
}

// sockAddr writes an address as its socket sees it: mapped ones as IPv6.
func sockAddr(a flowtable.Addr, port uint16, f Flags) string {
	ip := a.Netip()
	if f&IsV6 != 0 && ip.Is4() {
		ip = netip.AddrFrom16(ip.As16())
	}
	return netip.AddrPortFrom(ip, port).String()
}

// bind is inet_csk_get_port for TCP and udp_lib_get_port for UDP.
func (o *opening) bind() (SockID, error) {
	b, sp := o.b, o.sp
	if o.s.Lport == 0 {
		if err := o.autoPort(); err != nil {
			return 0, err
		}
	} else if in := b.conflict(&o.s, sp.UID, 0, sp.Prog == nil); in != 0 {
		return 0, o.fail(o.bindOp(), syscall.EADDRINUSE, "socket "+b.Name(in))
	}
	if b.next == maxSock {
		return 0, o.fail(o.bindOp(), syscall.ENOBUFS, "no socket numbers left")
	}
	id := b.next
	g, errno := b.groupFor(id, &o.s, sp)
	if errno != 0 {
		return 0, o.fail(o.bindOp(), errno, "")
	}
	b.next++
	*b.mut(id) = o.s
	*b.infos.mut(id, b.epoch) = &Info{Name: strings.Clone(sp.Name), UID: sp.UID, Dev: sp.Dev, group: sp.GroupName}
	b.names[sp.Name] = id
	b.enter(id)
	if g >= 0 {
		b.join(g, id)
	}
	return id, nil
}

// enter puts a bound socket into the tables of bound sockets.
func (b *Builder) enter(id SockID) {
	s := b.socks.at(id)
	if s.Flags&IsUDP != 0 {
		// udp_lib_get_port: IPv6 reuseport sockets go to the tail.
		b.udp.add(&b.socks, id, s.Flags&(IsV6|Reuseport) != IsV6|Reuseport, b.epoch)
	} else {
		b.bound.add(&b.socks, id, true, b.epoch)
		b.own(s, b.uid(id))
	}
	b.portAdd(s, id)
}

// conflict returns a socket that keeps s from its port, 0 when none does.
func (b *Builder) conflict(s *Sock, uid uint32, self SockID, noGroup bool) SockID {
	if s.Flags&IsUDP != 0 {
		return b.udpInUse(s, uid, noGroup)
	}
	return b.tcpConflict(s, uid, self, noGroup)
}

// uid is the owner of a socket.
func (b *Builder) uid(id SockID) uint32 {
	if p := b.infos.get(id); p != nil && *p != nil {
		return (*p).UID
	}
	return 0
}

// udpInUse is udp_lib_get_port with a given port: the port's slot is scanned
// for a wildcard bind, or while it holds at most ten sockets; else the chains of
// the address and of the wildcard.
func (b *Builder) udpInUse(s *Sock, uid uint32, noGroup bool) (in SockID) {
	check := func(id SockID) bool { // false: decided
		if !b.udpClash(s, id) {
			return true
		}
		if !b.udpShares(s, id, uid, noGroup) {
			in = id
		}
		return false
	}
	p := b.ports[1][s.Lport]
	if p == nil {
		return 0
	}
	if s.wild() || len(p.ids) <= primaryMax {
		p.each(&b.socks, check)
		return in
	}
	b.udp.each(&b.socks, s.Laddr, s.Lport, check)
	if in == 0 {
		b.udp.each(&b.socks, flowtable.Any6, s.Lport, check)
	}
	return in
}

// udpClash: both want the same packets and SO_REUSEADDR does not allow it.
func (b *Builder) udpClash(s *Sock, id SockID) bool {
	o := b.socks.at(id)
	return o.Flags&s.Flags&Reuseaddr == 0 && (o.Bdi == 0 || s.Bdi == 0 || o.Bdi == s.Bdi) && overlap(s, o, true, true)
}

// udpShares: SO_REUSEPORT of one user lets them share.
func (b *Builder) udpShares(s *Sock, id SockID, uid uint32, noGroup bool) bool {
	return b.socks.at(id).Flags&s.Flags&Reuseport != 0 && noGroup && b.uid(id) == uid
}

// overlap is inet_rcv_saddr_equal: are the local addresses the same, or does
// the wildcard of a (wildA) or of o (wildO) cover the other.
func overlap(a, o *Sock, wildA, wildO bool) bool {
	only2 := o.Flags&V6Only != 0
	v4equal := func() bool {
		x, y := rcvSaddr(a), rcvSaddr(o)
		return !only2 && (x == y || wildA && x == 0 || wildO && y == 0)
	}
	if a.Flags&IsV6 == 0 {
		return v4equal()
	}
	mapped1, any1 := a.Laddr.Is4(), a.Laddr == flowtable.Any6
	mapped2, any2 := o.Flags&IsV6 == 0 || o.Laddr.Is4(), o.Flags&IsV6 != 0 && o.Laddr == flowtable.Any6
	switch {
	case mapped1 && mapped2:
		return v4equal()
	case any1 && any2:
		return true
	case any2 && wildO && !(only2 && mapped1):
		return true
	case any1 && wildA && !(a.Flags&V6Only != 0 && mapped2):
		return true
	}
	return o.Flags&IsV6 != 0 && a.Laddr == o.Laddr
}

// rcvSaddr is sk_rcv_saddr: AF_INET6 sockets with a specific IPv6 address hold
// 127.0.0.6 there (LOOPBACK4_IPV6).
func rcvSaddr(s *Sock) uint32 {
	switch {
	case s.Laddr.Is4():
		return s.Laddr.As4()
	case s.Laddr == flowtable.Any6:
		return 0
	}
	return 0x7f000006
}

package demux

import (
	"syscall"

	"edemux/flowtable"
)

// autoPort chooses a local port: bind to port 0, or connect without a bind.
// Which of the free ports it is hangs on the secret alone.
func (o *opening) autoPort() error {
	var try func(port uint16) bool
	step := 2
	switch {
	case o.s.Flags&IsUDP != 0:
		step, try = 1, o.udpFree
	case o.sp.Bind.IsValid():
		try = o.tcpFree
	default:
		try = o.tcpFreeToConnect()
	}
	if port := o.search(step, try); port != 0 {
		o.s.Lport = port
		return nil
	}
	o.s.Lport = 0
	if o.s.Flags&IsUDP == 0 && !o.sp.Bind.IsValid() {
		return o.fail("connect "+o.sp.Connect.String(), syscall.EADDRNOTAVAIL, "no port is free")
	}
	return o.fail(o.bindOp(), syscall.EADDRINUSE, "no port is free")
}

// search tries the ports of ip_local_port_range from a random one on. With
// step 2 connect() takes those of the parity of the first port first and
// bind() the others, so that the two stay out of each other's way
// (__inet_hash_connect, inet_csk_find_open_port); the last port of an odd range
// is not tried then.
func (o *opening) search(step int, try func(uint16) bool) uint16 {
	sys := &o.b.v.VRFs[o.s.VRF].Sysctl
	low, n := int(sys.PortLow), int(sys.PortHigh)-int(sys.PortLow)+1
	if n <= 0 {
		return 0
	}
	if step == 2 && n > 1 {
		n &^= 1
	}
	start := o.b.rand.IntN(n)
	if step == 2 {
		start &^= 1
		if o.sp.Bind.IsValid() {
			start |= 1
		}
	}
	for pass := range step {
		for i := 0; i < n; i += step {
			port := uint16(low + (start^pass+i)%n)
			if !sys.ReservedPort(port) && try(port) {
				return port
			}
		}
	}
	return 0
}

// udpFree is the bitmap of udp_lib_lport_inuse: every socket of the port is
// compared, reuseport siblings do not count.
func (o *opening) udpFree(port uint16) bool {
	s := o.s
	s.Lport = port
	p := o.b.ports[1][port]
	if p == nil {
		return true
	}
	for _, id := range p.ids {
		if o.b.udpClash(&s, id) && !o.b.udpShares(&s, id, o.sp.UID, o.sp.Prog == nil) {
			return false
		}
	}
	return true
}

// tcpFree is the search of inet_csk_find_open_port: neither SO_REUSEADDR nor
// SO_REUSEPORT makes two sockets share a port that is chosen for one.
func (o *opening) tcpFree(port uint16) bool {
	s := o.s
	s.Lport = port
	p := o.b.ports[0][port]
	if p == nil {
		return true
	}
	domain := o.b.l3mdev(&s)
	for _, id := range p.ids {
		x := o.b.socks.at(id)
		if o.b.l3mdev(x) == domain && overlap(&s, x, true, true) && (s.Bdi == 0 || x.Bdi == 0 || s.Bdi == x.Bdi) {
			return false
		}
	}
	return true
}

// tcpFreeToConnect is the search of __inet_hash_connect: a port is taken when
// a socket was bound to it explicitly, and otherwise only for the same remote.
func (o *opening) tcpFreeToConnect() func(uint16) bool {
	o.s.Flags |= autoBound
	local, _, _ := connectLocal(&o.s, o.sp.Connect.Addr(), o.sp.Laddr)
	key := flowtable.Key{Laddr: local, Faddr: addrOf(o.sp.Connect.Addr()), Fport: o.sp.Connect.Port()}
	return func(port uint16) bool {
		p := o.b.ports[0][port]
		if p == nil {
			return true
		}
		domain := o.b.l3mdev(&o.s)
		key.Lport = port
		for _, id := range p.ids {
			x := o.b.socks.at(id)
			if o.b.l3mdev(x) != domain {
				continue
			}
			if x.Flags&autoBound == 0 || x.Key() == key && boundEq(o.b.v.TCPL3mdevAccept, x.Bdi, o.s.Bdi, domain) {
				return false
			}
		}
		return true
	}
}

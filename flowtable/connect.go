package flowtable

import (
	"errors"
	"runtime"
)

// ErrAddrNotAvail is EADDRNOTAVAIL: no port is left for this peer, or the fixed
// one is taken.
var ErrAddrNotAvail = errors.New("cannot assign requested address")

// Connect describes an active open. Ports are host-order numbers.
type Connect struct {
	Laddr, Faddr Addr
	Fport        uint16
	Lport        uint16 // not 0: the socket has its port, no search
	Flow         Flow   // what to insert
	Master       uint32 // the VRF device that Flow.Bdi is enslaved to, 0: none
	Accept       bool   // l3mdev_accept of the protocol

	Low, High uint16 // local port range, both included
	Every     bool   // the range is the socket's own (IP_LOCAL_PORT_RANGE): all ports in one pass
	StepWidth uint32 // ip_local_port_step_width, 0: off
	Reserved  *PortSet

	// Bound reports whether a socket was bound to the port explicitly (a bind
	// bucket with fastreuse or fastreuseport >= 0): the search skips such ports.
	// nil: none is.
	Bound func(port uint16) bool
	// Reuse reports whether the flow of a TIME_WAIT entry may be replaced
	// (tcp_twsk_unique); fixed says that the port was not searched. nil: never.
	Reuse func(f Flow, fixed bool) bool
	// Want and Queue restrict the search to some ports. nil: every port will do.
	Want  func(port uint16) bool
	Queue *PortQueue
}

// Connected is the outcome of a Connect.
type Connected struct {
	Port       uint16
	Ref        Ref
	Candidates int  // ports that were looked at
	Recycled   bool // the port was that of a TIME_WAIT entry
}

// search is one __inet_hash_connect.
type search struct {
	s    *Space
	c    *Connect
	h0   uint32 // hash of port 0: a candidate's is h0 + port
	key  Key
	dev  Dev
	now  int64
	out  Connected
	is4  bool
	addr uint64 // IPv4 key word
	sd   *side
	g    *geom  // see geometry
	own3 uint64 // owner word of an IPv4 line with three plain flows that conflict; 0: they do not
}

// Connect chooses a source port as Linux does (inet_hash_connect) and inserts
// the flow: RFC 6056 double hashing, the parity of Low first, reserved,
// explicitly bound and busy ports passed without taking a lock, TIME_WAIT
// entries reused where c.Reuse allows it. The hash is computed once; candidates
// add their port to it. Of concurrent calls no two get the same port for one
// peer. Errors: ErrAddrNotAvail and those of Insert but ErrExist.
func (s *Space) Connect(p *Ports, c *Connect, now int64) (Connected, error) {
	x := search{s: s, c: c, now: now,
		h0:  s.t.cfg.Hasher.Sum(s.seed, c.Laddr, c.Faddr, c.Fport).Hash(0),
		key: Key{Laddr: c.Laddr, Faddr: c.Faddr, Fport: c.Fport},
		dev: Dev{Dif: c.Flow.Bdi, Sdif: c.Master, Accept: c.Accept}}
	x.addr, _, x.is4 = x.key.split4()
	x.sd = s.side(&x.key)
	if x.dev.Match(0) {
		x.own3 = uint64(s.own0) * (1 | 1<<ownerBits | 1<<(2*ownerBits))
	}
	if c.Lport != 0 {
		return x.out, x.fixed()
	}
	return x.out, x.scan(p)
}

// hash is that of a candidate port.
func (x *search) hash(port uint32) uint32 { return x.h0 + port }

// fixed is the branch for a socket that has its port.
func (x *search) fixed() error {
	x.out.Candidates = 1
	if ok, err := x.take(x.c.Lport, true); ok || err != nil {
		return err
	}
	return ErrAddrNotAvail
}

// take tries to insert the flow with this port; false when it is busy.
func (x *search) take(port uint16, fixed bool) (bool, error) {
	x.key.Lport = port
	var reuse func(Flow) bool
	recycled := false
	if x.c.Reuse != nil {
		reuse = func(f Flow) bool {
			recycled = f.State == TimeWait && x.c.Reuse(f, fixed)
			return recycled
		}
	}
	r, err := x.s.insert(x.hash(uint32(port)), &x.key, x.c.Flow, x.now, x.dev, reuse)
	if err == ErrExist {
		return false, nil
	}
	x.out.Port, x.out.Ref, x.out.Recycled = port, r, recycled
	return err == nil, err
}

// scan searches the range, in two passes of one parity each unless the socket
// has a range of its own.
func (x *search) scan(p *Ports) error {
	c := x.c
	low, step := uint32(c.Low), uint32(2)
	remaining := uint32(c.High) + 1 - low
	if c.High < c.Low {
		return ErrAddrNotAvail
	}
	if c.Every {
		step = 1
	} else if remaining > 1 {
		remaining &^= 1
	}
	off := p.offset(c.Laddr, c.Faddr, c.Fport, x.now)
	perturb := &p.perturb[off%perturbSize]
	offset := (perturb.Load() + uint32(off>>32)) % remaining
	stride := step
	if c.StepWidth != 0 && remaining > 1 {
		stride = p.stride(remaining/step, c.StepWidth) * step
	}
	if !c.Every {
		offset &^= 1
	}
	for {
		i, ok, err := x.pass(low, offset, remaining, step, stride)
		if ok {
			i = max(i, uint32(p.random()&7)*step)
			perturb.Add(i + step)
		}
		if ok || err != nil {
			return err
		}
		if offset++; c.Every || offset&1 == 0 || remaining <= 1 {
			return ErrAddrNotAvail
		}
	}
}

// stride chooses the step of a scan: at most width, without a common divisor
// with the number of ports, so that the scan meets all of them.
func (p *Ports) stride(ports, width uint32) uint32 {
	width = min(ports, width)
	by := uint32(1)
	if ports%2 == 0 {
		by = 2
	}
	s := 1 + uint32(p.random()>>32*uint64(width)>>32)
	if by == 2 {
		s |= 1
	}
	for ; s <= width; s += by {
		if gcd(s, ports) == 1 {
			return s
		}
	}
	return 1
}

func gcd(a, b uint32) uint32 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// pass tries the ports from low+offset on, once around. i is how far it got.
func (x *search) pass(low, offset, remaining, step, stride uint32) (i uint32, ok bool, err error) {
	c := x.c
	high := low + remaining
	port := low + offset
	x.geometry()
	mask, known := uint64(0), uint32(0) // what block knows of the next ports
	for n := 0; i < remaining; n, i, port = n+1, i+step, port+stride {
		if port >= high {
			port -= remaining
		}
		if known == 0 && n >= blockAfter && stride <= 2 && x.g != nil {
			known = min(high-port, blockPorts)
			mask = x.block(port, known, stride)
		}
		taken := mask&1 != 0
		mask, known = mask>>stride, known-min(known, stride)
		q := uint16(port)
		if c.Reserved.Has(q) || c.Queue != nil && !c.Queue.wants(q) || c.Want != nil && !c.Want(q) {
			continue
		}
		x.out.Candidates++
		if taken || x.taken(q) || x.busy(q) || c.Bound != nil && c.Bound(q) {
			continue
		}
		if ok, err = x.take(q, false); ok || err != nil {
			return i, ok, err
		}
		x.geometry()
	}
	return i, false, nil
}

// geometry chooses where taken looks; while the table grows it is to find out
// for each port.
func (x *search) geometry() {
	x.g = nil
	if g := x.sd.first.Load(); g != nil && g.next.Load() == nil {
		x.g = g
	}
}

// busy is the look without a lock, inet_check_established under RCU: a flow
// with this port is there and cannot be reused. A TIME_WAIT entry is not busy
// yet.
func (x *search) busy(port uint16) bool {
	h := x.hash(uint32(port))
	x.key.Lport = port
	r := x.s.Lookup(h, &x.key, x.dev, x.now)
	if r == 0 {
		return false
	}
	f, ok := x.s.Get(r)
	return ok && (f.State != TimeWait || x.c.Reuse == nil)
}

// taken decides the usual case of busy in a few nanoseconds: an ESTABLISHED
// flow without a deadline has the port. Where it says false, busy decides.
func (x *search) taken(port uint16) (yes bool) {
	h, g := x.hash(uint32(port)), x.g
	if g == nil {
		if g = x.sd.at(h); g == nil {
			return false
		}
	}
	if x.is4 {
		yes = x.taken4(g, h, uint64(port)<<16|uint64(x.c.Fport))
	} else {
		x.key.Lport = port
		yes = x.taken6(g, h)
	}
	runtime.KeepAlive(g)
	return yes
}

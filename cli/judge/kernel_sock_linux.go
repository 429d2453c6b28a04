package judge

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"edemux/demux"
	"edemux/demux/cbpf"

	"golang.org/x/sys/unix"
)

// ksock is a socket of the kernel: one of the scenario's, or a connection that
// one of them accepted.
type ksock struct {
	fd    int
	name  string // of the listener, for an accepted connection
	proto uint8
	child bool
	ended bool // no more will come
	key   flowKey
	segs  uint32 // tcpi_segs_in seen so far
	spec  *Socket
}

// close ends a socket; the file descriptor is gone.
func (s *ksock) close() { unix.Close(s.fd) }

// abort ends a connection with a reset instead of a farewell.
func abort(fd int) {
	_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	unix.Close(fd)
}

// Options that x/sys does not name.
const (
	udpNoCheck6Rx    = 102
	ipv6MulticastAll = 29
)

// Open takes the steps of a socket up to listen or connect. A refused step
// leaves nothing behind. An error is one of the judge, not of the socket.
func (k *Kernel) Open(s *Socket) (*Refusal, error) {
	fd, err := k.socket(s)
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", s.Name, err)
	}
	ks := &ksock{fd: fd, name: s.Name, proto: s.Proto, spec: s}
	r, err := k.openSteps(ks, s)
	if r != nil || err != nil {
		unix.Close(fd)
		return r, err
	}
	k.socks[s.Name] = ks
	k.fds[fd] = ks
	return nil, k.watch(fd)
}

func (k *Kernel) openSteps(ks *ksock, s *Socket) (*Refusal, error) {
	fd := ks.fd
	for _, step := range []struct {
		op string
		f  func() error
	}{
		{"bind", func() error { return k.options(fd, s) }},
		{"attach", func() error { return attachText(fd, s.ProgBeforeBind) }},
		{"bind", func() error { return bindSocket(fd, s) }},
		{"join", func() error { return k.joins(fd, s) }},
		{"listen", func() error {
			if !s.Listen {
				return nil
			}
			return unix.Listen(fd, s.Backlog)
		}},
	} {
		var errno syscall.Errno
		switch err := step.f(); {
		case errors.As(err, &errno):
			return &Refusal{step.op, errno}, nil
		case err != nil:
			return nil, fmt.Errorf("socket %s: %w", s.Name, err)
		}
	}
	if s.Connect.IsValid() {
		return k.connect(ks, s.Connect, s.Laddr)
	}
	return nil, nil
}

// socket makes the file descriptor, owned by the socket's user.
func (k *Kernel) socket(s *Socket) (int, error) {
	family, typ, proto := unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDP
	if s.Family == 6 {
		family = unix.AF_INET6
	}
	if s.Proto == demux.TCP {
		typ, proto = unix.SOCK_STREAM, unix.IPPROTO_TCP
	}
	if s.UID != 0 {
		// The owner of a socket is the file system user that makes it. Only
		// this thread changes, which is why it is not a call of the runtime.
		if _, err := unix.SetfsuidRetUid(int(s.UID)); err != nil {
			return -1, err
		}
		defer unix.SetfsuidRetUid(0) //nolint:errcheck // this thread's own user before
	}
	return unix.Socket(family, typ|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, proto)
}

// options sets what comes before bind.
func (k *Kernel) options(fd int, s *Socket) error {
	type option struct{ level, name, value int }
	list := []option{{unix.SOL_IP, unix.IP_RECVERR, 1}, {unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 4 << 20}}
	if s.Family == 6 {
		list = append(list, option{unix.SOL_IPV6, unix.IPV6_V6ONLY, b2i(s.V6Only)}, option{unix.SOL_IPV6, unix.IPV6_RECVERR, 1})
	}
	add := func(on bool, level, name, value int) {
		if on {
			list = append(list, option{level, name, value})
		}
	}
	add(s.Reuseaddr, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	add(s.Reuseport, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	add(s.NoCheck6Rx, unix.SOL_UDP, udpNoCheck6Rx, 1)
	add(s.McastNotAll, unix.SOL_IP, unix.IP_MULTICAST_ALL, 0)
	add(s.McastNotAll && s.Family == 6, unix.SOL_IPV6, ipv6MulticastAll, 0)
	add(s.IncomingCPU >= 0, unix.SOL_SOCKET, unix.SO_INCOMING_CPU, int(s.IncomingCPU))
	for _, o := range list {
		if err := unix.SetsockoptInt(fd, o.level, o.name, o.value); err != nil {
			return fmt.Errorf("option %d of level %d: %w", o.name, o.level, err)
		}
	}
	if s.Dev == "" {
		return nil
	}
	dev := s.Dev
	if i := k.ifaces[s.Dev]; i != nil {
		dev = i.dev
	}
	return unix.BindToDevice(fd, dev)
}

func bindSocket(fd int, s *Socket) error {
	if !s.Bind.IsValid() {
		return nil
	}
	return unix.Bind(fd, sockaddr(s.Bind, s.Family))
}

// joins adds the memberships.
func (k *Kernel) joins(fd int, s *Socket) error {
	for _, j := range s.Joins {
		dev := k.ifaces[j.Dev]
		if dev == nil {
			return unix.ENODEV
		}
		if err := join(fd, j, uint32(dev.index)); err != nil {
			return err
		}
	}
	return nil
}

// join uses the requests that do not depend on the family (RFC 3678): struct
// group_req and group_source_req, whose addresses are aligned to 8 bytes.
func join(fd int, j Join, ifindex uint32) error {
	level := unix.SOL_IP
	if j.Group.Is6() {
		level = unix.SOL_IPV6
	}
	if len(j.Sources) == 0 {
		req := make([]byte, 8+128)
		putUint32(req, ifindex)
		putStorage(req[8:], j.Group)
		return unix.SetsockoptString(fd, level, unix.MCAST_JOIN_GROUP, string(req))
	}
	for _, a := range j.Sources {
		req := make([]byte, 8+2*128)
		putUint32(req, ifindex)
		putStorage(req[8:], j.Group)
		putStorage(req[8+128:], a)
		if err := unix.SetsockoptString(fd, level, unix.MCAST_JOIN_SOURCE_GROUP, string(req)); err != nil {
			return err
		}
	}
	return nil
}

// Close ends a socket of the scenario. Connections that it accepted stay.
func (k *Kernel) CloseSocket(name string) error {
	s := k.socks[name]
	if s == nil {
		return errors.New("close: no socket " + name)
	}
	delete(k.socks, name)
	delete(k.fds, s.fd)
	if s.proto == demux.TCP && s.spec.Connect.IsValid() {
		abort(s.fd) // the engine's flow ends at once too
		return nil
	}
	s.close()
	return nil
}

// Attach is SO_ATTACH_REUSEPORT_CBPF; empty text detaches.
func (k *Kernel) Attach(name, text string) (*Refusal, error) {
	s := k.socks[name]
	if s == nil {
		return nil, errors.New("attach: no socket " + name)
	}
	op, err := "attach", error(nil)
	if text == "" {
		op, err = "detach", unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_DETACH_REUSEPORT_BPF, 0)
	} else {
		err = attachText(s.fd, text)
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return &Refusal{op, errno}, nil
	}
	return nil, err
}

// SetCPU is SO_INCOMING_CPU.
func (k *Kernel) SetCPU(name string, cpu int32) error {
	s := k.socks[name]
	if s == nil {
		return errors.New("incoming CPU: no socket " + name)
	}
	return unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_INCOMING_CPU, int(cpu))
}

func attachText(fd int, text string) error {
	p, err := assemble(text)
	if err != nil || p == nil {
		return err
	}
	return attach(fd, p)
}

func attach(fd int, p *cbpf.Program) error {
	code := p.Instructions()
	filter := make([]unix.SockFilter, len(code))
	for i, in := range code {
		filter[i] = unix.SockFilter{Code: in.Code, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_REUSEPORT_CBPF, &prog)
}

// sockaddr is an address as a socket of that family takes it.
func sockaddr(a netip.AddrPort, family uint8) unix.Sockaddr {
	if family == 4 && a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}

// addrPortOf is the inverse of sockaddr; mapped addresses stay so.
func addrPortOf(sa unix.Sockaddr) netip.AddrPort {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(sa.Addr), uint16(sa.Port))
	}
	return netip.AddrPort{}
}

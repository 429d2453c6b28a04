package demux

import (
	"net/netip"
	"syscall"

	"edemux/demux/cbpf"
	"edemux/flowtable"
)

// Spec describes a socket to open: socket(), options, bind(), and then
// listen() or connect() when asked for.
type Spec struct {
	Name      string
	GroupName string // of the reuseport group it may found; "": Name
	Proto     uint8  // TCP or UDP
	Family    uint8  // 4 or 6; 0: by Bind, else by Connect
	// Bind is the local address; a v4-mapped one is an AF_INET6 socket. Port 0
	// chooses one. Invalid: no bind; connect chooses address and port.
	Bind    netip.AddrPort
	Connect netip.AddrPort // invalid: not connected
	// Laddr is the address that the route gives a wildcard-bound socket when it
	// connects.
	Laddr       netip.Addr
	Dev         string // SO_BINDTODEVICE: an interface or a VRF; "": unbound
	V6Only      bool
	Reuseport   bool
	Reuseaddr   bool
	NoCheck6Rx  bool
	McastNotAll bool // IP_MULTICAST_ALL and IPV6_MULTICAST_ALL cleared
	UID         uint32
	IncomingCPU int32 // -1: none
	Worker      uint32
	Listen      bool
	Backlog     int
	Prog        *cbpf.Program // attached before bind
	Joins       []Join        // after bind
}

// Add opens a socket. When a step is refused nothing remains of it and the
// error is an *Error with the step and errno.
func (b *Builder) Add(sp *Spec) (SockID, error) {
	o := opening{b: b, sp: sp}
	if err := o.prepare(); err != nil {
		return 0, err
	}
	id, err := o.bind()
	if err != nil {
		return 0, err
	}
	if err := o.finish(id); err != nil {
		b.Close(id)
		return 0, err
	}
	return id, nil
}

// opening is a socket between socket() and its place in the tables.
type opening struct {
	b  *Builder
	sp *Spec
	s  Sock
}

func (o *opening) fail(op string, errno syscall.Errno, with string) error {
	return &Error{o.sp.Name, op, errno, with}
}

// finish does what follows bind().
func (o *opening) finish(id SockID) error {
	b, sp := o.b, o.sp
	for _, j := range sp.Joins {
		if err := b.Join(id, j); err != nil {
			return err
		}
	}
	if sp.Listen {
		if err := b.Listen(id, sp.Backlog); err != nil {
			return err
		}
	}
	if sp.Connect.IsValid() {
		return b.Connect(id, sp.Connect, sp.Laddr)
	}
	return nil
}

// addrOf converts and tells the wildcard of each family apart.
func addrOf(a netip.Addr) flowtable.Addr { return flowtable.AddrFrom(a) }

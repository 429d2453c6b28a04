package judge

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"edemux/dataplane/mib"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Kernel is a network namespace with sockets in it, and the other ends of its
// interfaces in a second one. It belongs to the thread that made it.
type Kernel struct {
	net        *Net
	host, peer netns.NsHandle
	nl         *netlink.Handle // in host
	ifaces     map[string]*iface
	ports      []*iface
	wire       int // packet socket in peer: sends frames, sees what the host sends
	marker     int // packet socket in host: sees that frames were taken
	epoll      int
	cpu        int // that the thread is on, -1: any
	socks      map[string]*ksock
	fds        map[int]*ksock
	flows      map[flowKey]*tcpFlow
	hungUp     map[uint16]bool // local ports of connections that the application closed
	mib        *mibReader
	base       [mib.NCounters]uint64 // counters before the next frame
	lookups    *ruleProgram
	reasons    *reasonTrace // nil: this kernel does not tell, see NoReasons
	NoReasons  error        // why drop reasons are not compared
	seq        uint32       // of markers
	buf        []byte
}

// iface is an interface as the kernel knows it.
type iface struct {
	name, dev string // in the configuration, in the kernel
	vrf       int
	index     int // in host
	peerIndex int // of a port: its other end
	mac       [6]byte
}

// markerTimeout bounds the wait for a marker: far more than any queue takes.
const markerTimeout = 20 * time.Second

// NewKernel makes the namespaces of n on the calling thread and leaves the
// thread in the one with the sockets. Close it on the same thread.
func NewKernel(n *Net) (*Kernel, error) {
	k := &Kernel{net: n, ifaces: map[string]*iface{}, socks: map[string]*ksock{}, fds: map[int]*ksock{},
		flows: map[flowKey]*tcpFlow{}, hungUp: map[uint16]bool{}, host: netns.None(), peer: netns.None(), wire: -1, marker: -1, epoll: -1, cpu: -1,
		buf: make([]byte, 1<<17)}
	if err := k.open(); err != nil {
		k.Close()
		return nil, err
	}
	return k, nil
}

func (k *Kernel) open() (err error) {
	if k.host, err = newNamespace(); err != nil {
		return err
	}
	if err := setSysctls(quiet); err != nil {
		return err
	}
	if k.nl, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
		return fmt.Errorf("netlink: %w", err)
	}
	if k.peer, err = newNamespace(); err != nil {
		return err
	}
	if err := k.makePorts(); err != nil {
		return err
	}
	if k.wire, err = packetSocket(unix.ETH_P_ALL, 0); err != nil {
		return err
	}
	if err := unix.SetsockoptInt(k.wire, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
		return fmt.Errorf("packet socket: %w", err)
	}
	if err := netns.Set(k.host); err != nil {
		return fmt.Errorf("enter namespace: %w", err)
	}
	if err := k.configure(); err != nil {
		return err
	}
	if k.marker, err = packetSocket(markerType, 0); err != nil {
		return err
	}
	if k.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	if k.mib, err = openMIB(); err != nil {
		return err
	}
	if err := k.OnCPU(0); err != nil {
		return err
	}
	k.reasons, k.NoReasons = traceReasons(int(k.host))
	for _, p := range k.ports {
		if err := k.ready(p); err != nil {
			return err
		}
	}
	return k.Rebase()
}

// packetSocket opens a nonblocking packet socket in the thread's namespace.
func packetSocket(proto uint16, ifindex int) (int, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, fmt.Errorf("packet socket: %w", err)
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20)
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: htons(proto), Ifindex: ifindex}); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("packet socket: bind: %w", err)
	}
	return fd, nil
}

// OnCPU moves the thread to the CPU that is to receive the next frames.
func (k *Kernel) OnCPU(cpu int) error {
	if k.cpu == cpu {
		return nil
	}
	k.cpu = cpu
	return pinTo(cpu)
}

// Rebase makes later Outcomes count from now.
func (k *Kernel) Rebase() (err error) {
	if _, err = k.reasons.read(); err != nil {
		return err
	}
	k.base, err = k.mib.read()
	return err
}

// Close ends the sockets and lets go of the namespaces, which end with them.
func (k *Kernel) Close() {
	for _, s := range k.socks {
		s.close()
	}
	for fd := range k.fds {
		abort(fd)
	}
	k.lookups.close()
	k.reasons.close()
	k.mib.close()
	for _, fd := range []int{k.wire, k.marker, k.epoll} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	if k.nl != nil {
		for _, p := range k.ports {
			_ = k.nl.LinkDel(&netlink.GenericLink{LinkAttrs: netlink.LinkAttrs{Index: p.index}})
		}
		k.nl.Close()
	}
	for _, h := range []*netns.NsHandle{&k.host, &k.peer} {
		if h.IsOpen() {
			h.Close()
		}
	}
}

// LocalOf is the address and port that a socket has now.
func (k *Kernel) LocalOf(name string) (netip.AddrPort, error) {
	s := k.socks[name]
	if s == nil {
		return netip.AddrPort{}, errors.New("no socket " + name)
	}
	sa, err := unix.Getsockname(s.fd)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("socket %s: %w", name, err)
	}
	return addrPortOf(sa), nil
}

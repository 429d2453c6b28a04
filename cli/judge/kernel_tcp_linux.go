package judge

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"time"

	"edemux/dataplane/packet"
	"edemux/demux"

	"golang.org/x/sys/unix"
)

// tcpFlow translates between a conversation as the frames tell it and as the
// kernel has it: the kernel chose its own initial sequence number.
type tcpFlow struct {
	next   uint32 // sequence that the kernel sends next
	delta  uint32 // what to add to the remote's sequence numbers
	opened bool   // by a connect of ours: delta is set by the first frame
}

// noteSent learns the kernel's sequence numbers from what it sends.
func (k *Kernel) noteSent(m *packet.Meta) {
	key := newFlowKey(addrPort(m.Daddr, m.Dport), addrPort(m.Saddr, m.Sport))
	if m.TCPFlags&packet.RST != 0 {
		return
	}
	f := k.flows[key]
	if m.TCPFlags&packet.SYN != 0 {
		if f == nil || f.next != m.Seq+1 {
			k.flows[key] = &tcpFlow{next: m.Seq + 1}
		}
		return
	}
	if f == nil {
		return
	}
	if m.TCPFlags&packet.FIN != 0 {
		f.next = m.Seq + 1
	}
}

// translate rewrites the numbers of a TCP segment, or of the segment that an
// ICMP error quotes, to those of the kernel's connection. data is the wireFrame
// of f; checksums stay as right or as wrong as they were.
func (k *Kernel) translate(f *packet.Frame, data []byte, m *packet.Meta) {
	l4 := ethLen + int(m.L4) - int(m.L3)
	switch {
	case m.Has(packet.HasTCP|packet.HasPorts) && !m.Has(packet.Fragment) && l4+20 <= len(data):
		c := k.flows[keyOfMeta(m)]
		if c == nil || m.TCPFlags&packet.SYN != 0 {
			return
		}
		if c.opened {
			c.opened, c.delta = false, openISN+1-m.Seq
		}
		patch32(data, l4+4, l4+16, m.Seq+c.delta)
		if m.TCPFlags&packet.ACK != 0 {
			patch32(data, l4+8, l4+16, c.next)
		}
	case m.Has(packet.ICMPError) && l4+8 < len(data):
		if e, ok := packet.Embedded(f.Data, m); ok && e.Proto == demux.TCP {
			k.translateQuoted(data, l4, m.IPVer, newFlowKey(addrPort(e.Daddr, e.Dport), addrPort(e.Saddr, e.Sport)))
		}
	}
}

// translateQuoted gives the segment quoted in an ICMP error the sequence that
// the kernel would have sent last.
func (k *Kernel) translateQuoted(data []byte, l4 int, ver uint8, key flowKey) {
	head := 40
	if ver == 4 {
		head = int(data[l4+8]&15) * 4
	}
	if at, f := l4+8+head+4, k.flows[key]; f != nil && at+4 <= len(data) {
		patch32(data, at, l4+2, f.next)
	}
}

// patch32 writes v at an offset and keeps the one's complement checksum at sum
// as right as it was (RFC 1624).
func patch32(data []byte, at, sum int, v uint32) {
	acc := uint64(^binary.BigEndian.Uint16(data[sum:]))
	for i := 0; i < 4; i += 2 {
		old := binary.BigEndian.Uint16(data[at+i:])
		now := uint16(v >> (16 - 8*i))
		binary.BigEndian.PutUint16(data[at+i:], now)
		if (at+i-sum)&1 == 0 {
			acc += uint64(^old) + uint64(now)
		}
	}
	for acc>>16 != 0 {
		acc = acc&0xffff + acc>>16
	}
	binary.BigEndian.PutUint16(data[sum:], ^uint16(acc))
}

// openISN is the remote's initial sequence in handshakes that the judge makes.
const openISN = 0x10000000

// Connect connects a socket that exists.
func (k *Kernel) Connect(c *Connect) (*Refusal, error) {
	s := k.socks[c.Socket]
	if s == nil {
		return nil, errors.New("connect: no socket " + c.Socket)
	}
	return k.connect(s, c.To, c.Laddr)
}

func (k *Kernel) connect(s *ksock, to netip.AddrPort, laddr netip.Addr) (*Refusal, error) {
	if laddr.IsValid() {
		if err := k.routeFrom(k.vrfOfDev(s.spec.Dev), to.Addr(), laddr); err != nil {
			return nil, err
		}
	}
	err := unix.Connect(s.fd, sockaddr(to, s.spec.Family))
	var errno syscall.Errno
	switch {
	case err == nil:
		return nil, nil
	case errors.Is(err, unix.EINPROGRESS):
		return nil, k.handshake(s, to)
	case errors.As(err, &errno):
		return &Refusal{"connect", errno}, nil
	}
	return nil, err
}

// vrfOfDev is the VRF of a device that sockets are bound to.
func (k *Kernel) vrfOfDev(dev string) int {
	if p := k.ifaces[dev]; p != nil {
		return p.vrf
	}
	return 0
}

// portOf is a port that a socket bound to dev can be reached on.
func (k *Kernel) portOf(dev string) *iface {
	for _, p := range k.ports {
		if p.name == dev || dev != "" && k.isVRF(k.ifaces[dev]) && p.vrf == k.ifaces[dev].vrf {
			return p
		}
	}
	return k.ports[0]
}

// handshake answers the SYN of a connect in the remote's place.
func (k *Kernel) handshake(s *ksock, to netip.AddrPort) error {
	p := k.portOf(s.spec.Dev)
	if err := k.flush(p); err != nil {
		return err
	}
	sa, err := unix.Getsockname(s.fd)
	if err != nil {
		return err
	}
	s.key = newFlowKey(to, addrPortOf(sa))
	if err := k.replies(&Outcome{}, &packet.Meta{}); err != nil {
		return err
	}
	f := k.flows[s.key]
	if f == nil {
		return fmt.Errorf("connect %s: the kernel sent no SYN", to)
	}
	if err := k.inject(p, synAck(p.mac, s.key, f.next)); err != nil {
		return err
	}
	if err := k.flush(p); err != nil {
		return err
	}
	if err := k.replies(&Outcome{}, &packet.Meta{}); err != nil {
		return err
	}
	f.opened = true
	for end := time.Now().Add(markerTimeout); ; {
		info, err := unix.GetsockoptTCPInfo(s.fd, unix.SOL_TCP, unix.TCP_INFO)
		if err != nil || info.State == tcpEstablished {
			s.segs = segments(s.fd)
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("connect %s: state %d after the SYN-ACK", to, info.State)
		}
	}
}

const tcpEstablished = 1 // TCP_ESTABLISHED

// Hangup closes an accepted connection as an application does.
func (k *Kernel) Hangup(h *Hangup) error {
	key := newFlowKey(h.Remote, h.Local)
	for fd, s := range k.fds {
		if s.child && s.key == key {
			delete(k.fds, fd)
			unix.Close(fd)
			k.hungUp[key.local.Port()] = true
			if err := k.flush(k.ports[0]); err != nil {
				return err
			}
			return k.replies(&Outcome{}, &packet.Meta{})
		}
	}
	return nil // no connection came of it
}

// holdsPort reports whether a connection that was accepted still holds a local
// port, which bind() respects after its listener is gone.
func (k *Kernel) holdsPort(port uint16) bool {
	for _, s := range k.fds {
		if s.child && s.key.local.Port() == port {
			return true
		}
	}
	return k.hungUp[port]
}

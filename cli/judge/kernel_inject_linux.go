package judge

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"edemux/dataplane/packet"

	"golang.org/x/sys/unix"
)

// markerType is the EtherType of markers: one for local experiments.
const markerType = 0x88b5

// Send puts a frame on the wire of an interface and returns what came of it.
// The frame has passed the host, and all that the host sent because of it has
// arrived, when it returns.
func (k *Kernel) Send(f *packet.Frame, m *packet.Meta, dev string) (*Outcome, error) {
	p := k.ifaces[dev]
	if p == nil {
		return nil, fmt.Errorf("no interface %q", dev)
	}
	known := int(f.Port) < len(k.net.MACs) && k.net.MACs[f.Port] != 0
	data := wireFrame(f, m, p.mac, !known)
	mend(data, m, k.net.TrustIP, k.net.TrustL4 || len(f.Data) < int(f.WireLen))
	k.translate(f, data, m)
	if err := k.OnCPU(int(f.CPU)); err != nil {
		return nil, err
	}
	if err := k.inject(p, data); err != nil {
		return nil, err
	}
	if err := k.flush(p); err != nil {
		return nil, err
	}
	o := &Outcome{}
	if err := k.drain(o); err != nil {
		return nil, err
	}
	if err := k.replies(o, m); err != nil {
		return nil, err
	}
	if err := k.drainFlow(o, m); err != nil {
		return nil, err
	}
	now, err := k.mib.read()
	if err != nil {
		return nil, err
	}
	for c := range now {
		o.MIB[c] = int64(now[c] - k.base[c])
	}
	k.base = now
	o.Reasons, err = k.reasons.read()
	return o, err
}

// inject sends bytes from the other end of a port.
func (k *Kernel) inject(p *iface, data []byte) error {
	for {
		err := unix.Sendto(k.wire, data, 0, &unix.SockaddrLinklayer{Ifindex: p.peerIndex, Protocol: htons(unix.ETH_P_ALL)})
		if errors.Is(err, unix.ENOBUFS) || errors.Is(err, unix.EAGAIN) {
			time.Sleep(time.Millisecond)
			continue
		}
		if err != nil {
			return fmt.Errorf("port %s: send %d bytes: %w", p.name, len(data), err)
		}
		return nil
	}
}

// flush waits until the host has taken every frame sent to p so far, and until
// what it sent has arrived at the other ends. Both ways are queues of the CPU
// that the thread is on, so a marker comes out behind everything before it.
func (k *Kernel) flush(p *iface) error {
	k.seq++
	if err := k.inject(p, markerFrame(p.mac, k.seq)); err != nil {
		return err
	}
	if err := k.await(k.marker, k.seq, time.Now().Add(markerTimeout)); err != nil {
		return fmt.Errorf("port %s: the host did not take a marker: %w", p.name, err)
	}
	if err := k.sendBack(p); err != nil {
		return fmt.Errorf("port %s: send marker back: %w", p.name, err)
	}
	return nil
}

// ready waits until a new link carries frames both ways: Linux drops what comes
// before it has noticed the carrier.
func (k *Kernel) ready(p *iface) error {
	for end := time.Now().Add(markerTimeout); time.Now().Before(end); {
		if err := k.flushOnce(p, time.Now().Add(5*time.Millisecond)); err == nil {
			return nil
		}
	}
	return fmt.Errorf("port %s: the link does not come up", p.name)
}

// flushOnce is flush with a time limit that also waits for the way back.
func (k *Kernel) flushOnce(p *iface, end time.Time) error {
	k.seq++
	if err := k.inject(p, markerFrame(p.mac, k.seq)); err != nil {
		return err
	}
	if err := k.await(k.marker, k.seq, end); err != nil {
		return err
	}
	if err := k.sendBack(p); err != nil {
		return err
	}
	return k.await(k.wire, k.seq, end)
}

// sendBack sends the marker from the host's side.
func (k *Kernel) sendBack(p *iface) error {
	back := markerFrame([6]byte{2, 0xed, 0, 2, 0, 2}, k.seq)
	return unix.Sendto(k.marker, back, 0, &unix.SockaddrLinklayer{Ifindex: p.index, Protocol: htons(markerType)})
}

func markerFrame(dst [6]byte, seq uint32) []byte {
	b := make([]byte, 60)
	copy(b, dst[:])
	copy(b[6:], []byte{2, 0xed, 0, 2, 0, 1})
	binary.BigEndian.PutUint16(b[12:], markerType)
	binary.BigEndian.PutUint32(b[14:], seq)
	return b
}

// markerOf is the number of a marker, 0 when the frame is none.
func markerOf(b []byte) uint32 {
	if len(b) < 18 || binary.BigEndian.Uint16(b[12:]) != markerType {
		return 0
	}
	return binary.BigEndian.Uint32(b[14:])
}

// await reads a packet socket until the marker comes.
func (k *Kernel) await(fd int, seq uint32, end time.Time) error {
	for {
		n, from, err := unix.Recvfrom(fd, k.buf, 0)
		switch {
		case errors.Is(err, unix.EAGAIN):
			if err := poll(fd, end); err != nil {
				return err
			}
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		default:
			if l, ok := from.(*unix.SockaddrLinklayer); ok && l.Pkttype == unix.PACKET_OUTGOING {
				continue
			}
			if markerOf(k.buf[:n]) == seq {
				return nil
			}
		}
	}
}

// poll waits for input until end.
func poll(fd int, end time.Time) error {
	wait := time.Until(end)
	if wait <= 0 {
		return errors.New("it did not come in time")
	}
	_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(wait.Milliseconds())+1)
	if errors.Is(err, unix.EINTR) {
		return nil
	}
	return err
}

// replies reads what the host sent, up to the marker that flush sent back.
func (k *Kernel) replies(o *Outcome, m *packet.Meta) error {
	for end := time.Now().Add(markerTimeout); ; {
		n, _, err := unix.Recvfrom(k.wire, k.buf, 0)
		switch {
		case errors.Is(err, unix.EAGAIN):
			if err := poll(k.wire, end); err != nil {
				return fmt.Errorf("the marker did not come back: %w", err)
			}
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("read replies: %w", err)
		default:
			switch seq := markerOf(k.buf[:n]); seq {
			case k.seq:
				return nil
			case 0:
				k.reply(o, m, k.buf[:n])
			}
		}
	}
}

// reply judges one frame that the host sent.
func (k *Kernel) reply(o *Outcome, m *packet.Meta, data []byte) {
	f := packet.Frame{Data: data, WireLen: uint32(len(data)), Link: packet.LinkEthernet}
	var r packet.Meta
	packet.Parse(&f, &packet.Options{}, &r)
	if !r.Has(packet.HasTuple) {
		return
	}
	if r.Has(packet.HasTCP | packet.HasPorts) {
		k.noteSent(&r)
	}
	if !m.Has(packet.HasTuple) {
		return
	}
	switch {
	case r.Saddr == m.Saddr && r.Daddr == m.Daddr && r.TTL+1 == m.TTL:
		o.Reply |= Forwarded
	case r.Has(packet.HasTCP) && r.Saddr == m.Daddr && r.Daddr == m.Saddr && r.Sport == m.Dport && r.Dport == m.Sport:
		if r.TCPFlags&packet.RST != 0 {
			o.Reply |= Reset
		} else if r.TCPFlags&(packet.SYN|packet.ACK) == packet.SYN|packet.ACK {
			o.Reply |= SynAck
		}
	case r.Proto == packet.ProtoICMP && r.ICMPType == 3 && r.ICMPCode == 3,
		r.Proto == packet.ProtoICMPv6 && r.ICMPType == 1 && r.ICMPCode == 4:
		o.Reply |= Unreachable
	}
}

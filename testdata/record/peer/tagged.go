package main

import (
	"encoding/binary"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// tag is one VLAN tag: the Ethernet type that announces it and its VLAN ID.
type tag struct {
	tpid, vid uint16
}

const (
	tpidC   = 0x8100 // IEEE 802.1Q
	tpidS   = 0x88a8 // IEEE 802.1ad
	tpidOld = 0x9100 // QinQ before 802.1ad
)

// stacks are the tag stacks of one round, outermost first. The VLAN ID 0 is a
// priority tag: the frame belongs to the untagged interface.
var stacks = [][]tag{
	nil,
	{{tpidC, 0}},
	{{tpidC, 10}},
	{{tpidC, 20}},
	{{tpidS, 100}, {tpidC, 10}},
	{{tpidOld, 100}, {tpidC, 20}},
	{{tpidS, 100}, {tpidS, 200}, {tpidC, 30}},
	{{tpidC, 99}}, // no sub-interface has this one
}

// sendTagged sends the same UDP datagram under every stack, three rounds. The
// addresses and ports are equal on purpose: only the tags tell VRFs apart.
func sendTagged(iface string) error {
	ifi, err := net.InterfaceByName(iface)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	to := &unix.SockaddrLinklayer{Ifindex: ifi.Index}
	for round := range 3 {
		for _, stack := range stacks {
			if err := unix.Sendto(fd, taggedFrame(stack, byte(round)), 0, to); err != nil {
				return err
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
	return nil
}

// taggedFrame is 192.0.2.1:4000 to 192.0.2.2:7000 over UDP with the given tags
// and a checksum field of 0, which IPv4 allows.
func taggedFrame(stack []tag, round byte) []byte {
	be := binary.BigEndian
	f := []byte{0x02, 0, 0, 0, 0, 0x02, 0x02, 0, 0, 0, 0, 0x01}
	for _, t := range stack {
		f = be.AppendUint16(be.AppendUint16(f, t.tpid), t.vid)
	}
	f = be.AppendUint16(f, 0x0800)
	payload := []byte{'t', 'a', 'g', round}

	ip := []byte{0x45, 0, 0, 0, 0, round, 0x40, 0, 64, unix.IPPROTO_UDP, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2}
	be.PutUint16(ip[2:], uint16(len(ip)+8+len(payload)))
	be.PutUint16(ip[10:], headerSum(ip))
	f = append(f, ip...)

	f = be.AppendUint16(f, 4000)
	f = be.AppendUint16(f, 7000)
	f = be.AppendUint16(f, uint16(8+len(payload)))
	f = be.AppendUint16(f, 0)
	return append(f, payload...)
}

// headerSum is the Internet checksum of h, whose checksum field is 0.
func headerSum(h []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(h); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(h[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

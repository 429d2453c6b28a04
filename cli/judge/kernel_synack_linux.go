package judge

import (
	"encoding/binary"

	"edemux/dataplane/packet"
	"edemux/flowtable"
)

// synAck is the second packet of a handshake that the kernel began.
func synAck(dst [6]byte, key flowKey, ack uint32) []byte {
	be := binary.BigEndian
	src, to := key.remote.Addr(), key.local.Addr()
	head, typ := 40, uint16(packet.EtherIPv6)
	if src.Is4() {
		head, typ = 20, packet.EtherIPv4
	}
	b := make([]byte, 14+head+20)
	copy(b, dst[:])
	copy(b[6:], []byte{2, 0xed, 0, 1, 0, 1})
	be.PutUint16(b[12:], typ)
	ip, tcp := b[14:14+head], b[14+head:]
	if src.Is4() {
		ip[0], ip[8], ip[9] = 0x45, 64, packet.ProtoTCP
		be.PutUint16(ip[2:], uint16(head+20))
		copy(ip[12:], src.AsSlice())
		copy(ip[16:], to.AsSlice())
		be.PutUint16(ip[10:], packet.Fold(packet.Sum(0, ip)))
	} else {
		ip[0], ip[6], ip[7] = 0x60, packet.ProtoTCP, 64
		be.PutUint16(ip[4:], 20)
		copy(ip[8:], src.AsSlice())
		copy(ip[24:], to.AsSlice())
	}
	be.PutUint16(tcp, key.remote.Port())
	be.PutUint16(tcp[2:], key.local.Port())
	be.PutUint32(tcp[4:], openISN)
	be.PutUint32(tcp[8:], ack)
	tcp[12], tcp[13] = 5<<4, packet.SYN|packet.ACK
	be.PutUint16(tcp[14:], 65535)
	acc := packet.PseudoSum(flowtable.AddrFrom(src), flowtable.AddrFrom(to), packet.ProtoTCP, 20)
	be.PutUint16(tcp[16:], packet.Fold(packet.Sum(acc, tcp)))
	return b
}

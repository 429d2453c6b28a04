package judge

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// htons is the network order that packet sockets want their protocol in.
func htons(v uint16) uint16 {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], v)
	return binary.NativeEndian.Uint16(b[:])
}

func putUint32(b []byte, v uint32) { binary.NativeEndian.PutUint32(b, v) }

// putStorage writes a struct sockaddr_storage without a port.
func putStorage(b []byte, a netip.Addr) {
	if a.Is4() {
		binary.NativeEndian.PutUint16(b, unix.AF_INET)
		copy(b[4:], a.AsSlice())
		return
	}
	binary.NativeEndian.PutUint16(b, unix.AF_INET6)
	copy(b[8:], a.AsSlice())
}

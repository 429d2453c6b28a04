package dpdk

// Rewriting of frames in place, on the bytes of an mbuf's first segment. None of
// these touches a checksum it does not have to: swapping addresses and ports
// leaves the one's complement sums of IP, TCP and UDP as they are.

const (
	etherIPv4 = 0x0800
	etherIPv6 = 0x86dd
)

// l3offset skips the tags of an Ethernet frame.
func l3offset(b []byte) (off int, etherType uint16) {
	for off = 12; off+2 <= len(b); off += 4 {
		t := uint16(b[off])<<8 | uint16(b[off+1])
		if t != 0x8100 && t != 0x88a8 && t != 0x9100 {
			return off + 2, t
		}
	}
	return len(b), 0
}

// TagBytes counts the tags in the bytes of an Ethernet frame.
func TagBytes(b []byte) int {
	off, _ := l3offset(b)
	return max(0, off-14) / 4
}

func swap(b []byte, i, j, n int) {
	for k := range n {
		b[i+k], b[j+k] = b[j+k], b[i+k]
	}
}

// Echo turns an Ethernet frame with an unfragmented UDP or TCP packet around:
// MAC addresses, IP addresses and ports. false, with nothing changed, when the
// frame is no such packet or went to a group address, which cannot be a source.
// An IPv6 packet with extension headers is not echoed.
func Echo(b []byte) bool {
	off, etherType := l3offset(b)
	if len(b) < 14 || b[0]&1 != 0 {
		return false
	}
	var addr, alen, l4 int
	var proto byte
	switch {
	case etherType == etherIPv4 && len(b) >= off+20 && b[off]>>4 == 4:
		if b[off+6]&0x3f != 0 || b[off+7] != 0 || b[off+16] >= 224 {
			return false
		}
		addr, alen, l4, proto = off+12, 4, off+int(b[off]&15)*4, b[off+9]
	case etherType == etherIPv6 && len(b) >= off+40 && b[off]>>4 == 6:
		if b[off+24] == 0xff {
			return false
		}
		addr, alen, l4, proto = off+8, 16, off+40, b[off+6]
	default:
		return false
	}
	if proto != 6 && proto != 17 || l4 < addr+2*alen || len(b) < l4+4 {
		return false
	}
	swap(b, 0, 6, 6)
	swap(b, addr, addr+alen, alen)
	swap(b, l4, l4+2, 2)
	return true
}

// SetMACs writes the destination and source addresses of an Ethernet frame;
// false when it is too short.
func SetMACs(b []byte, dst, src [6]byte) bool {
	if len(b) < 14 {
		return false
	}
	copy(b, dst[:])
	copy(b[6:], src[:])
	return true
}

// DecTTL lowers the TTL or hop limit of the IP header at the front of ip as
// ip_decrease_ttl does, keeping an IPv4 checksum right; false, with nothing
// changed, when the packet has no hop left or is no IP header.
func DecTTL(ip []byte) bool {
	switch {
	case len(ip) >= 20 && ip[0]>>4 == 4:
		if ip[8] <= 1 {
			return false
		}
		ip[8]--
		sum := uint32(ip[10])<<8 | uint32(ip[11])
		sum += 0x100
		sum += sum >> 16
		ip[10], ip[11] = byte(sum>>8), byte(sum)
		return true
	case len(ip) >= 40 && ip[0]>>4 == 6:
		if ip[7] <= 1 {
			return false
		}
		ip[7]--
		return true
	}
	return false
}

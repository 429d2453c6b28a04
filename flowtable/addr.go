package flowtable

import (
	"encoding/binary"
	"net/netip"
)

// mapped is the upper half of the low word of ::ffff:0:0/96.
const mapped = 0xffff << 32

// Addr is an IP address as two 64-bit numbers, most significant first (the
// address read as one big-endian integer). An IPv4 address is held in its
// v4-mapped form ::ffff:a.b.c.d, so one type serves both families and a mapped
// AF_INET6 socket matches IPv4 packets without conversion, as in the kernel.
// Comparable with ==. The zero Addr is `::`.
type Addr struct{ Hi, Lo uint64 }

// V4 returns the Addr of an IPv4 address given as a host-order number.
func V4(a uint32) Addr { return Addr{Lo: mapped | uint64(a)} }

// Any4 and Any6 are the wildcard addresses of the two families.
var (
	Any4 = V4(0)
	Any6 = Addr{}
)

// AddrFrom converts a. Zones are dropped; the invalid Addr becomes `::`.
func AddrFrom(a netip.Addr) Addr {
	if !a.IsValid() {
		return Addr{}
	}
	b := a.As16()
	return AddrFrom16(&b)
}

// AddrFrom16 reads the 16 network-order bytes of an IPv6 address.
func AddrFrom16(b *[16]byte) Addr {
	return Addr{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

// Is4 reports whether a is an IPv4 (v4-mapped) address.
func (a Addr) Is4() bool { return a.Hi == 0 && a.Lo>>32 == 0xffff }

// IsAny reports whether a is 0.0.0.0 or `::`.
func (a Addr) IsAny() bool { return a == Any6 || a == Any4 }

// As4 returns the low 32 bits: the host-order IPv4 address when Is4.
func (a Addr) As4() uint32 { return uint32(a.Lo) }

// Any returns the wildcard of a's family.
func (a Addr) Any() Addr {
	if a.Is4() {
		return Any4
	}
	return Any6
}

// Netip converts back; a mapped address comes out as IPv4.
func (a Addr) Netip() netip.Addr {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], a.Hi)
	binary.BigEndian.PutUint64(b[8:], a.Lo)
	return netip.AddrFrom16(b).Unmap()
}

// String is the RFC 5952 form (dotted quad for IPv4).
func (a Addr) String() string { return a.Netip().String() }

// Key is the identity of a flow seen from its socket: the local side first.
// The packet side is the other way round (daddr is laddr); KeyOf turns it.
// Ports are host-order numbers.
type Key struct {
	Laddr, Faddr Addr
	Lport, Fport uint16
}

// KeyOf is the only place where packet orientation becomes socket orientation.
func KeyOf(saddr, daddr Addr, sport, dport uint16) Key {
	return Key{Laddr: daddr, Faddr: saddr, Lport: dport, Fport: sport}
}

// Is4 reports whether the flow is IPv4: both addresses are.
func (k *Key) Is4() bool {
	return k.Laddr.Hi|k.Faddr.Hi == 0 && ((k.Laddr.Lo^mapped)|(k.Faddr.Lo^mapped))>>32 == 0
}

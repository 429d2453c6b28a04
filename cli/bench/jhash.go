package bench

import (
	"math/bits"

	"edemux/flowtable"
)

// Bob Jenkins' lookup3, which is public domain, in the shape in which the kernel
// uses it (include/linux/jhash.h).

const jhashInit = 0xdeadbeef

func jhashMix(a, b, c uint32) (uint32, uint32, uint32) {
	a = (a - c) ^ bits.RotateLeft32(c, 4)
	c += b
	b = (b - a) ^ bits.RotateLeft32(a, 6)
	a += c
	c = (c - b) ^ bits.RotateLeft32(b, 8)
	b += a
	a = (a - c) ^ bits.RotateLeft32(c, 16)
	c += b
	b = (b - a) ^ bits.RotateLeft32(a, 19)
	a += c
	c = (c - b) ^ bits.RotateLeft32(b, 4)
	b += a
	return a, b, c
}

func jhashFinal(a, b, c uint32) uint32 {
	c = (c ^ b) - bits.RotateLeft32(b, 14)
	a = (a ^ c) - bits.RotateLeft32(c, 11)
	b = (b ^ a) - bits.RotateLeft32(a, 25)
	c = (c ^ b) - bits.RotateLeft32(b, 16)
	a = (a ^ c) - bits.RotateLeft32(c, 4)
	b = (b ^ a) - bits.RotateLeft32(a, 14)
	return (c ^ b) - bits.RotateLeft32(b, 24)
}

// jhash3 is jhash_3words.
func jhash3(x, y, z, iv uint32) uint32 {
	k := iv + jhashInit + 12
	return jhashFinal(x+k, y+k, z+k)
}

// jhashKeys are what the kernel mixes in: the secret of the family and
// net_hash_mix of the namespace.
type jhashKeys struct{ secret, mix uint32 }

// ehashfn is the hash of a flow without its local port: inet_ehashfn and, in
// the form of Linux 7.1, inet6_ehashfn, both with lport 0. low goes where the
// kernel of before put the local port, above the remote one: 0 now, the port
// in the rows called mixed. Addresses are taken as numbers; the kernel takes
// them in network order, which costs the same.
func (j *jhashKeys) ehashfn(k *flowtable.Key, low uint16) uint32 {
	ports := uint32(low)<<16 | uint32(k.Fport)
	if k.Laddr.Is4() {
		return jhash3(k.Laddr.As4(), k.Faddr.As4(), ports, j.secret+j.mix)
	}
	a, b, c := j.secret, j.secret, j.secret
	a += uint32(k.Laddr.Hi>>32) ^ j.mix
	b += uint32(k.Laddr.Hi)
	c += uint32(k.Laddr.Lo >> 32)
	a, b, c = jhashMix(a, b, c)
	a += uint32(k.Laddr.Lo)
	b += uint32(k.Faddr.Hi >> 32)
	c += uint32(k.Faddr.Hi)
	a, b, c = jhashMix(a, b, c)
	return jhashFinal(a+uint32(k.Faddr.Lo>>32), b+uint32(k.Faddr.Lo), c+ports)
}

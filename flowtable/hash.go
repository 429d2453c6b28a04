package flowtable

import "encoding/binary"

// Secret is the 128-bit hash secret of the process.
type Secret [16]byte

// Hasher computes the keyed, additive flow hash
//
//	H(laddr, lport, faddr, fport) = H(laddr, 0, faddr, fport) + lport (mod 2^32)
//
// the property of Linux commit d4438ce68bf1: a connect() hashes once and adds
// the candidate port. H without the port is multilinear over 32-bit words,
// (k0 + sum k_i*w_i mod 2^64) >> 32, which is universal for random k (Thorup,
// "High Speed Hashing for Integers and Strings", 2015) and lets the hash for
// the wildcard local address be derived by subtracting the laddr terms; then a
// fixed bijection, which keeps that (Sum.Hash). It is no PRF: see docs/hash.md
// for what an attacker can and cannot do.
//
// Immutable after NewHasher; safe for any number of threads.
type Hasher struct {
	k0     uint64
	laddr  [4]uint64 // IPv6 words, most significant first; IPv4 uses [3]
	faddr  [4]uint64
	fport  uint64
	vrf    [2]uint64
	family uint64 // added for IPv6, so that the families do not shadow each other
}

// NewHasher expands the secret into the multipliers with SplitMix64 over both
// halves. Multipliers are odd: a single-bit change of any word changes H.
func NewHasher(s Secret) *Hasher {
	x := binary.LittleEndian.Uint64(s[:8])
	y := binary.LittleEndian.Uint64(s[8:])
	next := func() uint64 {
		x += 0x9e3779b97f4a7c15
		z := x ^ y
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		y = y<<13 | y>>51
		return z ^ z>>31
	}
	h := &Hasher{k0: next(), family: next()}
	for i := range 4 {
		h.laddr[i] = next() | 1
		h.faddr[i] = next() | 1
	}
	h.fport = next() | 1
	h.vrf = [2]uint64{next() | 1, next() | 1}
	return h
}

// Seed carries the identity of a VRF into every hash of its flows. It hangs on
// the VRF's name only, so sharing or resizing a table never moves a worker.
type Seed uint64

// Seed returns the seed of the VRF called name.
func (h *Hasher) Seed(name string) Seed {
	f := uint64(14695981039346656037) // FNV-1a: names are short and not hostile
	for i := range len(name) {
		f = (f ^ uint64(name[i])) * 1099511628211
	}
	return Seed(h.k0 + h.vrf[0]*(f>>32) + h.vrf[1]*(f&0xffffffff))
}

// Sum is the 64-bit hash state of a tuple without its local port.
type Sum uint64

// Hash finishes the sum and adds the local port; a candidate port costs one
// addition once Hash(0) is known. Finishing is a bijection of the sum's upper
// half. Without it sequential peers would fall into buckets as an arithmetic
// progression does: for most secrets more evenly than at random, for some far
// less.
func (s Sum) Hash(lport uint16) uint32 {
	a := uint32(s >> 32)
	a ^= a >> 16
	a *= 0x9e3779b1
	a ^= a >> 15
	return a + uint32(lport)
}

// Sum hashes everything but the local port of a flow in the VRF of seed.
// fport is a host-order number. laddr and faddr are of one family.
func (h *Hasher) Sum(seed Seed, laddr, faddr Addr, fport uint16) Sum {
	s := uint64(seed) + h.fport*uint64(fport)
	if laddr.Is4() {
		return Sum(s + h.laddr[3]*(laddr.Lo&0xffffffff) + h.faddr[3]*(faddr.Lo&0xffffffff))
	}
	return Sum(s + h.family + h.laddrTerms(laddr) +
		h.faddr[0]*(faddr.Hi>>32) + h.faddr[1]*(faddr.Hi&0xffffffff) +
		h.faddr[2]*(faddr.Lo>>32) + h.faddr[3]*(faddr.Lo&0xffffffff))
}

// Wild returns the Sum of the same remote with the wildcard as local address,
// which is what Linux hashes when a wildcard-bound group chooses its member:
// the same remote reaches the same member whatever local address it sent to.
func (h *Hasher) Wild(s Sum, laddr Addr) Sum {
	if laddr.Is4() {
		return s - Sum(h.laddr[3]*(laddr.Lo&0xffffffff))
	}
	return s - Sum(h.laddrTerms(laddr))
}

func (h *Hasher) laddrTerms(a Addr) uint64 {
	return h.laddr[0]*(a.Hi>>32) + h.laddr[1]*(a.Hi&0xffffffff) +
		h.laddr[2]*(a.Lo>>32) + h.laddr[3]*(a.Lo&0xffffffff)
}

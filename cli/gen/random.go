package gen

import "math/bits"

// random is SplitMix64: a counter and a mixer, equal on every machine.
type random struct{ x uint64 }

func (r *random) next() uint64 {
	r.x += 0x9e3779b97f4a7c15
	return mix(r.x)
}

// mix is the finalizer of SplitMix64: a bijection that looks random.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below is a number from 0 to n-1; its bias is n/2^64.
func (r *random) below(n uint64) uint64 {
	hi, _ := bits.Mul64(r.next(), n)
	return hi
}

// percent is true in p of 100 cases.
func (r *random) percent(p int) bool { return p > 0 && r.below(100) < uint64(p) }

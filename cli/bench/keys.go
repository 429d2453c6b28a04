package bench

import (
	"encoding/binary"
	"math/rand/v2"

	"edemux/flowtable"
)

// Sets of flows that do not meet: keyAt of different numbers are different
// flows, so hits, misses and flows to come are ranges of numbers.
const (
	firstMiss  = 1 << 31
	firstFresh = 1 << 30
)

// scatter is a bijection of 32-bit numbers (xor-shifts and odd factors can be
// undone), so that consecutive flow numbers look random.
func scatter(x uint32) uint32 {
	x = (x ^ x>>16) * 0x21f0aaad
	x = (x ^ x>>15) * 0x735a2d97
	return x ^ x>>15
}

// keyAt is flow number i: one of four local addresses and four ports, as on a
// host with a few services, and a remote that looks random.
func keyAt(i uint32, v6 bool) flowtable.Key {
	x := scatter(i)
	k := flowtable.Key{Lport: 8000 + uint16(x>>2&3), Fport: 32768 | uint16(x>>4&0xfff)}
	if v6 {
		k.Laddr = flowtable.Addr{Hi: 0x20010db8 << 32, Lo: 1 + uint64(x&3)}
		k.Faddr = flowtable.Addr{Hi: 0x20010db8<<32 | 1<<16, Lo: uint64(x>>16)*0x9e3779b97f4a7c15 ^ 1<<57}
		return k
	}
	k.Laddr, k.Faddr = flowtable.V4(0x0a000001+x&3), flowtable.V4(0xc6120000+x>>16)
	return k
}

// key4 and key6 are the flow as the key of a map, as small as it gets: a map
// that had to hash our 40 bytes for IPv4 would be no fair peer.
type key4 struct{ laddr, faddr, ports uint32 }

type key6 struct {
	laddr, faddr [2]uint64
	ports        uint32
}

func small4(k *flowtable.Key) key4 {
	return key4{k.Laddr.As4(), k.Faddr.As4(), uint32(k.Lport)<<16 | uint32(k.Fport)}
}

func small6(k *flowtable.Key) key6 {
	return key6{
		[2]uint64{k.Laddr.Hi, k.Laddr.Lo}, [2]uint64{k.Faddr.Hi, k.Faddr.Lo},
		uint32(k.Lport)<<16 | uint32(k.Fport),
	}
}

// appendRaw appends the tuple as bytes, for a table that hashes bytes: 16 for
// IPv4 and 40 for IPv6, multiples of the eight that crc32 takes at a time.
func appendRaw(b []byte, k *flowtable.Key) []byte {
	be := binary.BigEndian
	if k.Is4() {
		b = be.AppendUint32(be.AppendUint32(b, k.Laddr.As4()), k.Faddr.As4())
	} else {
		for _, w := range []uint64{k.Laddr.Hi, k.Laddr.Lo, k.Faddr.Hi, k.Faddr.Lo} {
			b = be.AppendUint64(b, w)
		}
	}
	return append(be.AppendUint16(be.AppendUint16(b, k.Lport), k.Fport), 0, 0, 0, 0) // and a VRF
}

// streamMax bounds how many lookups repeat: at a cache line each they are many
// times what caches hold.
const streamMax = 4 << 20

// stream is the numbers of n flows from first on in the order in which packets
// of them come: shuffled (each once, or a sample of the large sets) or zipf.
func stream(first uint32, n int, order string, seed uint64) []uint32 {
	r := rand.New(rand.NewPCG(seed, 2))
	out := make([]uint32, max(min(n, streamMax), burst))
	switch {
	case order == "zipf":
		z := rand.NewZipf(r, 1.1, 1, uint64(n-1))
		for i := range out {
			out[i] = first + uint32(z.Uint64())
		}
	case n > streamMax:
		for i := range out {
			out[i] = first + r.Uint32N(uint32(n))
		}
	default:
		for i := range out {
			out[i] = first + uint32(i%n)
		}
		r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	return out[:len(out)/burst*burst]
}

// burst is how many packets the dataplane looks up at a time.
const burst = 64

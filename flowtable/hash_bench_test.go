package flowtable

import (
	"encoding/binary"
	"math/bits"
	"testing"

	"github.com/dchest/siphash"
)

// The hashes below are what ours is measured against; the table uses none.

// jmix and jfinal are the rounds of Bob Jenkins' lookup3, as jhash.h has them.
func jmix(a, b, c uint32) (uint32, uint32, uint32) {
	a -= c
	a ^= bits.RotateLeft32(c, 4)
	c += b
	b -= a
	b ^= bits.RotateLeft32(a, 6)
	a += c
	c -= b
	c ^= bits.RotateLeft32(b, 8)
	b += a
	a -= c
	a ^= bits.RotateLeft32(c, 16)
	c += b
	b -= a
	b ^= bits.RotateLeft32(a, 19)
	a += c
	c -= b
	c ^= bits.RotateLeft32(b, 4)
	b += a
	return a, b, c
}

func jfinal(a, b, c uint32) uint32 {
	c ^= b
	c -= bits.RotateLeft32(b, 14)
	a ^= c
	a -= bits.RotateLeft32(c, 11)
	b ^= a
	b -= bits.RotateLeft32(a, 25)
	c ^= b
	c -= bits.RotateLeft32(b, 16)
	a ^= c
	a -= bits.RotateLeft32(c, 4)
	b ^= a
	b -= bits.RotateLeft32(a, 14)
	c ^= b
	c -= bits.RotateLeft32(b, 24)
	return c
}

// jhash is Linux's inet_ehashfn and the 36-byte form of inet6_ehashfn.
func jhash(k *Key, secret, mix uint32) uint32 {
	if k.Is4() {
		iv := secret + mix + 0xdeadbeef + 12
		return uint32(k.Lport) + jfinal(uint32(k.Laddr.Lo)+iv, uint32(k.Faddr.Lo)+iv, uint32(k.Fport)+iv)
	}
	l, f := k.Laddr, k.Faddr
	a, b, c := jmix(secret+(uint32(l.Hi>>32)^mix), secret+uint32(l.Hi), secret+uint32(l.Lo>>32))
	a, b, c = jmix(a+uint32(l.Lo), b+uint32(f.Hi>>32), c+uint32(f.Hi))
	return uint32(k.Lport) + jfinal(a+uint32(f.Lo>>32), b+uint32(f.Lo), c+uint32(k.Fport))
}

// sip is SipHash-2-4 over the same bytes.
func sip(k *Key, k0, k1 uint64) uint32 {
	var b [40]byte
	n := 16
	if k.Is4() {
		binary.LittleEndian.PutUint64(b[0:], k.Laddr.Lo<<32|k.Faddr.Lo&0xffffffff)
		binary.LittleEndian.PutUint64(b[8:], uint64(k.Fport))
	} else {
		binary.LittleEndian.PutUint64(b[0:], k.Laddr.Hi)
		binary.LittleEndian.PutUint64(b[8:], k.Laddr.Lo)
		binary.LittleEndian.PutUint64(b[16:], k.Faddr.Hi)
		binary.LittleEndian.PutUint64(b[24:], k.Faddr.Lo)
		binary.LittleEndian.PutUint64(b[32:], uint64(k.Fport))
		n = 40
	}
	return uint32(siphash.Hash(k0, k1, b[:n])) + uint32(k.Lport)
}

// BenchmarkHash measures a hash of a tuple of each family.
func BenchmarkHash(b *testing.B) {
	hs := NewHasher(Secret{1})
	sd := hs.Seed("default")
	for _, v6 := range []bool{false, true} {
		keys := benchKeys(1024, v6)
		name := map[bool]string{false: "v4", true: "v6"}[v6]
		for _, h := range []struct {
			name string
			f    func(k *Key) uint32
		}{
			{"own", func(k *Key) uint32 { return hs.Sum(sd, k.Laddr, k.Faddr, k.Fport).Hash(k.Lport) }},
			{"jhash", func(k *Key) uint32 { return jhash(k, 7, 9) }},
			{"siphash", func(k *Key) uint32 { return sip(k, 7, 9) }},
		} {
			b.Run(name+"/"+h.name, func(b *testing.B) {
				s := uint32(0)
				for i := range b.N {
					s += h.f(&keys[i&1023])
				}
				sink += uint64(s)
			})
		}
		b.Run(name+"/candidate", func(b *testing.B) {
			h0, s := hs.Sum(sd, keys[0].Laddr, keys[0].Faddr, 9).Hash(0), uint32(0)
			for i := range b.N {
				s ^= h0 + uint32(uint16(i))
			}
			sink += uint64(s)
		})
	}
}

// BenchmarkInsert fills a table from its smallest size and empties it again.
func BenchmarkInsert(b *testing.B) {
	for _, v6 := range []bool{false, true} {
		keys := benchKeys(100_000, v6)
		name := map[bool]string{false: "v4", true: "v6"}[v6]
		b.Run(name, func(b *testing.B) {
			hs := NewHasher(Secret{1})
			for b.Loop() {
				tb, err := New(Config{Name: "bench", Buckets: 1024, Max: 1 << 20, Hasher: hs})
				noErr(b, err)
				s, err := tb.Space("default", hs.Seed("default"), Limits{})
				noErr(b, err)
				for i := range keys {
					if _, err := s.Insert(s.hash(&keys[i]), &keys[i], Flow{Sock: 1}, 0); err != nil && err != ErrExist {
						b.Fatal(err)
					}
				}
				for i := range keys {
					if r := s.Lookup(s.hash(&keys[i]), &keys[i], Dev{}, 0); r != 0 {
						noErr(b, s.Delete(r, &keys[i]))
					}
				}
				tb.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(keys)), "ns/flow")
		})
	}
}

package flowtable

import (
	"math"
	"math/rand/v2"
	"testing"
)

// chiSquare compares how many buckets have 0, 1, 2... of n keys with what
// Poisson says, and returns the statistic with its number of classes.
func chiSquare(hashes []uint32, buckets int) (chi float64, classes, longest int) {
	count := make([]int, buckets)
	for _, h := range hashes {
		count[int(h)&(buckets-1)]++
	}
	seen := make([]int, 64)
	for _, c := range count {
		longest = max(longest, c)
		seen[min(c, len(seen)-1)]++
	}
	lambda := float64(len(hashes)) / float64(buckets)
	p, rest, got := math.Exp(-lambda), 1.0, buckets
	for k := 0; ; k++ {
		e := p * float64(buckets)
		if rest*float64(buckets)-e < 10 { // the tail is one class
			e = rest * float64(buckets)
			return chi + (float64(got)-e)*(float64(got)-e)/e, k + 1, longest
		}
		chi += (float64(seen[k]) - e) * (float64(seen[k]) - e) / e
		rest -= p
		got -= seen[k]
		p *= lambda / float64(k+1)
	}
}

func randAddr(r *rand.Rand, v6 bool) Addr {
	if v6 {
		return Addr{r.Uint64() | 1<<61, r.Uint64()}
	}
	return V4(r.Uint32())
}

func testSecret(r *rand.Rand) (s Secret) {
	for i := range s {
		s[i] = byte(r.Uint32())
	}
	return s
}

// TestHashAdditive: H(l, p, f, q) = H(l, 0, f, q) + p mod 2^32, for both
// families and across the wrap.
func TestHashAdditive(t *testing.T) {
	r := seed(t)
	for i := range 200_000 / raceScale {
		hs := NewHasher(testSecret(r))
		l, f := randAddr(r, i%2 == 0), randAddr(r, i%2 == 0)
		sum := hs.Sum(hs.Seed("red"), l, f, uint16(r.Uint32()))
		p := uint16(r.Uint32())
		equal(t, sum.Hash(0)+uint32(p), sum.Hash(p))
		equal(t, sum.Hash(65535), sum.Hash(0)+65535)
	}
}

// TestHashWrap finds sums whose ports wrap around 2^32 and uses them: buckets
// and flows behave as anywhere else.
func TestHashWrap(t *testing.T) {
	s, hs := testSpace(t, Limits{})
	for _, v6 := range []bool{false, true} {
		k := Key{Laddr: V4(1), Lport: 65535}
		if v6 {
			k.Laddr = Addr{1 << 62, 1}
		}
		for n := uint64(0); ; n++ {
			if k.Faddr = V4(uint32(n)); v6 {
				k.Faddr = Addr{1 << 62, n}
			}
			if sum := hs.Sum(s.seed, k.Laddr, k.Faddr, 0); sum.Hash(65535) < sum.Hash(0) {
				break
			}
		}
		for p := 65535; p >= 0; p -= 17 {
			k.Lport = uint16(p)
			_, err := s.Insert(s.hash(&k), &k, Flow{Sock: uint32(p + 1)}, 0)
			noErr(t, err)
		}
		for p := 65535; p >= 0; p -= 17 {
			k.Lport = uint16(p)
			_, sock := s.LookupSock(s.hash(&k), &k, Dev{}, 0)
			equal(t, uint32(p+1), sock)
		}
	}
}

// TestHashEveryBit: each single bit of addresses, remote port, VRF name and
// secret changes the hash.
func TestHashEveryBit(t *testing.T) {
	r := seed(t)
	for range max(3, 300/raceScale) {
		sec := testSecret(r)
		hs := NewHasher(sec)
		sd := hs.Seed("red")
		for _, v6 := range []bool{false, true} {
			l, f, q := randAddr(r, v6), randAddr(r, v6), uint16(r.Uint32())
			h := hs.Sum(sd, l, f, q)
			for bit := range 64 {
				for _, d := range []Addr{{0, 1 << bit}, {1 << bit, 0}} {
					if !v6 && (d.Hi != 0 || bit > 31) {
						continue
					}
					if hs.Sum(sd, Addr{l.Hi ^ d.Hi, l.Lo ^ d.Lo}, f, q) == h || hs.Sum(sd, l, Addr{f.Hi ^ d.Hi, f.Lo ^ d.Lo}, q) == h {
						t.Fatalf("bit %v of an address does not count", d)
					}
				}
				if bit < 16 && hs.Sum(sd, l, f, q^1<<bit) == h {
					t.Fatalf("bit %d of the port does not count", bit)
				}
			}
			equal(t, false, hs.Sum(hs.Seed("rec"), l, f, q) == h)
			for bit := range 128 {
				s2 := sec
				s2[bit/8] ^= 1 << (bit % 8)
				h2 := NewHasher(s2)
				equal(t, false, h2.Sum(h2.Seed("red"), l, f, q) == h, "secret bit", bit)
			}
		}
	}
}

// TestHashWild: the wildcard's hash by subtraction is that of the wildcard, and
// does not depend on the local address.
func TestHashWild(t *testing.T) {
	r := seed(t)
	for i := range 100_000 / raceScale {
		hs := NewHasher(testSecret(r))
		v6 := i%2 == 0
		l, f, q := randAddr(r, v6), randAddr(r, v6), uint16(r.Uint32())
		sd := hs.Seed("default")
		w := hs.Wild(hs.Sum(sd, l, f, q), l)
		equal(t, hs.Wild(hs.Sum(sd, l.Any(), f, q), l.Any()), w)
		if v6 {
			// `::` is no v4-mapped address: its terms are zero.
			equal(t, hs.Sum(sd, Any6, f, q), w)
		}
		l2 := randAddr(r, v6)
		equal(t, w, hs.Wild(hs.Sum(sd, l2, f, q), l2))
		if !v6 {
			equal(t, hs.Sum(sd, Any4, f, q), w)
		}
	}
}

// TestHashDistribution: a million random and a million sequential peers are
// spread as Poisson says; the bound is the 1-1e-7 quantile of chi-square with
// 8 degrees of freedom, tried with several secrets.
func TestHashDistribution(t *testing.T) {
	const n, bound = 1 << 20, 50
	r := seed(t)
	hashes := make([]uint32, n)
	for range max(1, 3/raceScale) {
		hs := NewHasher(testSecret(r))
		sd := hs.Seed("default")
		l4, l6 := V4(r.Uint32()), randAddr(r, true)
		f4, f6 := r.Uint32(), randAddr(r, true)
		for name, f := range map[string]func(i uint32) uint32{
			"random v4":           func(uint32) uint32 { return hs.Sum(sd, l4, V4(r.Uint32()), uint16(r.Uint32())).Hash(443) },
			"random v6":           func(uint32) uint32 { return hs.Sum(sd, l6, randAddr(r, true), 9).Hash(443) },
			"sequential v4":       func(i uint32) uint32 { return hs.Sum(sd, l4, V4(f4+i), 1234).Hash(443) },
			"sequential v6":       func(i uint32) uint32 { return hs.Sum(sd, l6, Addr{f6.Hi, f6.Lo + uint64(i)}, 1234).Hash(443) },
			"sequential networks": func(i uint32) uint32 { return hs.Sum(sd, l6, Addr{f6.Hi + uint64(i), f6.Lo}, 1234).Hash(443) },
			"peers and ports":     func(i uint32) uint32 { return hs.Sum(sd, l4, V4(f4+i>>10), uint16(30000+i&1023)).Hash(443) },
		} {
			for i := range hashes {
				hashes[i] = f(uint32(i))
			}
			chi, classes, longest := chiSquare(hashes, n)
			if chi > bound || longest > 14 {
				t.Errorf("%s: chi-square %.1f in %d classes, longest chain %d", name, chi, classes, longest)
			}
		}
	}
}

// TestHashConsecutivePorts: one peer's consecutive local ports never collide
// beyond what their number forces, and one parity of them at most twice that.
func TestHashConsecutivePorts(t *testing.T) {
	r := seed(t)
	for _, buckets := range []int{1 << 10, 1 << 14, 1 << 16} {
		hs := NewHasher(testSecret(r))
		sum := hs.Sum(hs.Seed("default"), randAddr(r, true), randAddr(r, true), 443)
		all, even := make([]int, buckets), make([]int, buckets)
		for p := range 28232 {
			b := int(sum.Hash(uint16(32768+p))) & (buckets - 1)
			if all[b]++; p%2 == 0 {
				even[b]++
			}
		}
		limit := (28232+buckets-1)/buckets + 1
		longest, longestEven := 0, 0
		for i := range all {
			longest, longestEven = max(longest, all[i]), max(longestEven, even[i])
		}
		equal(t, true, longest <= limit, longest, limit)
		evenLimit := 2 * ((28232/2+buckets-1)/buckets + 1)
		equal(t, true, longestEven <= evenLimit, longestEven, evenLimit)
	}
}

// TestHashLocality: consecutive ports lie in the same or the next home line.
func TestHashLocality(t *testing.T) {
	for _, c := range peers() {
		s, hs := testSpace(t, Limits{})
		occupy(t, s, &c, 1, Flow{Sock: 1})
		k := c.at(1)
		g := s.side(&k).first.Load()
		sum := hs.Sum(s.seed, c.Laddr, c.Faddr, c.Fport)
		for p := range uint16(65535) {
			a, b := g.home(sum.Hash(p)), g.home(sum.Hash(p+1))
			equal(t, true, b == a || b == a+1 || b == 0 && a == g.main-1, a, b)
		}
	}
}

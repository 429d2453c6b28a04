package demux

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"edemux/flowtable"

	"github.com/gaissmai/bart"
	"github.com/stretchr/testify/require"
)

func leafNode(node int32) leaf { return leaf{node: node} }

// TestIntervals compares with a binary search, also for starts that crowd.
func TestIntervals(t *testing.T) {
	for _, n := range []int{1, 2, 15, 16, 17, 255, 256, 257, 5000} {
		for seed := range uint64(6) {
			r := rand.New(rand.NewPCG(uint64(n), seed))
			starts := []uint32{0}
			for range n - 1 {
				k := r.Uint32()
				if seed%2 == 1 && r.IntN(10) > 0 {
					k = 0x0a000000 + k>>18
				}
				starts = append(starts, k)
			}
			if n > 2 && seed > 3 {
				starts[1] = ^uint32(0)
			}
			slices.Sort(starts)
			starts = slices.Compact(starts)
			leaves := make([]leaf, len(starts))
			for i := range leaves {
				leaves[i] = leafNode(int32(i))
			}
			table := newIntervals(slices.Clone(starts), leaves)
			for range 2000 {
				k := r.Uint32()
				switch r.IntN(5) {
				case 0:
					k = starts[r.IntN(len(starts))]
				case 1:
					k = starts[r.IntN(len(starts))] - 1
				case 2:
					k = ^uint32(0)
				case 3:
					k = 0x0a000000 + k>>18
				}
				want, ok := slices.BinarySearch(starts, k)
				if !ok {
					want--
				}
				require.Equal(t, int32(want), table.find(k).node, "%d starts, seed %d, key %#x", n, seed, k)
			}
		}
	}
}

// TestLPMTwin compares with bart.
func TestLPMTwin(t *testing.T) {
	for seed := range uint64(40) {
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 5))
		var table bart.Table[int32]
		var list []entry
		addr := func() netip.Addr {
			if r.IntN(2) == 0 {
				return netip.AddrFrom4([4]byte{byte(r.IntN(2) * 255), byte(r.IntN(3)), byte(r.IntN(3)), byte(r.IntN(256))})
			}
			b := [16]byte{byte(r.IntN(2) * 255), byte(r.IntN(2)), 7: byte(r.IntN(4)), 8: byte(r.IntN(3)), 15: byte(r.IntN(8))}
			return netip.AddrFrom16(b)
		}
		for i := range r.IntN(300) {
			a := addr()
			p := netip.PrefixFrom(a, r.IntN(a.BitLen()+1)).Masked()
			if !slices.ContainsFunc(list, func(e entry) bool { return e.pfx == p }) {
				table.Insert(p, int32(i))
				list = append(list, entry{p, int32(i)})
			}
		}
		m := newLPM(list, -1, leafNode)
		for range 3000 {
			a := addr()
			want, ok := table.Lookup(a)
			if !ok {
				want = -1
			}
			require.Equal(t, want, m.find(flowtable.AddrFrom(a)).node, "%s", a)
		}
	}
}

package capture

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// slowNS is resolution.ns in unbounded arithmetic.
func slowNS(tsresol uint8, offset int64, v uint64) int64 {
	den := new(big.Int)
	if tsresol&0x80 != 0 {
		den.Lsh(big.NewInt(1), uint(tsresol&0x7f))
	} else {
		den.Exp(big.NewInt(10), big.NewInt(int64(tsresol)), nil)
	}
	x := new(big.Int).Mul(new(big.Int).SetUint64(v), big.NewInt(second))
	x.Div(x, den)
	limit := big.NewInt(maxTS)
	if x.Cmp(limit) > 0 {
		x = limit
	}
	x = new(big.Int).Add(x, big.NewInt(offset))
	if x.Cmp(limit) > 0 {
		return maxTS
	}
	if x.Cmp(new(big.Int).Neg(limit)) < 0 {
		return -maxTS
	}
	return x.Int64()
}

func TestResolutionTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		res := rapid.Uint8().Draw(t, "tsresol")
		v := rapid.Uint64().Draw(t, "v") >> rapid.IntRange(0, 63).Draw(t, "shift")
		offset := rapid.Int64Range(-maxTS/second, maxTS/second).Draw(t, "offset") * second
		r := newResolution(res)
		r.offset = offset
		if got, want := r.ns(v), slowNS(res, offset, v); got != want {
			t.Fatalf("tsresol %#x offset %d v %d: %d, want %d", res, offset, v, got, want)
		}
	})
}

func TestResolutionOfEveryValue(t *testing.T) {
	for res := range 256 {
		for _, v := range []uint64{0, 1, 999_999_999, 1_700_000_000_123_456_789, 1 << 60, math.MaxUint64} {
			r := newResolution(uint8(res))
			require.Equal(t, slowNS(uint8(res), 0, v), r.ns(v), "tsresol %#x v %d", res, v)
		}
	}
}

func TestResolutionNamed(t *testing.T) {
	for _, c := range []struct {
		res  uint8
		v    uint64
		want int64
	}{
		{0, 1_700_000_000, 1_700_000_000e9},
		{3, 1_700_000_000_123, 1_700_000_000_123_000_000},
		{6, 1_700_000_000_123_456, 1_700_000_000_123_456_000},
		{9, 1_700_000_000_123_456_789, 1_700_000_000_123_456_789},
		{12, 1_999, 1},
		{0x80, 3, 3e9},
		{0x80 | 10, 512, 5e8},
		{0x80 | 32, 1 << 31, 5e8},
		{0x80 | 63, 1 << 62, 5e8},
		{0xff, math.MaxUint64, 0},
	} {
		r := newResolution(c.res)
		require.Equal(t, c.want, r.ns(c.v), "tsresol %#x", c.res)
	}
}

// Hostile offsets cannot carry a time out of the range that sums need.
func TestOffsetIsBounded(t *testing.T) {
	for _, v := range []uint64{1 << 63, math.MaxInt64, math.MaxUint64} {
		e := (&enc{big: true})
		e.shb().idb(1, 0, e.opt(ifTsoffset, (&enc{big: true}).u32(uint32(v>>32), uint32(v)).b))
		e.epb(0, math.MaxUint64, nil).epb(0, 0, nil)
		for _, f := range requireClean(t, e.b) {
			require.GreaterOrEqual(t, f.TS, int64(-maxTS))
			require.LessOrEqual(t, f.TS, int64(maxTS))
		}
	}
}

package bench

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"edemux/flowtable"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"
)

func TestOrder(t *testing.T) {
	for sides := 1; sides <= 5; sides++ {
		seq := order(sides, 6, 1)
		require.Len(t, seq, sides*6)
		for pair := 0; pair < len(seq); pair += 2 * sides {
			forth, back := seq[pair:pair+sides], slices.Clone(seq[pair+sides:pair+2*sides])
			slices.Reverse(back)
			assert.Equal(t, forth, back, "each pair of rounds is a palindrome")
			sorted := slices.Sorted(slices.Values(forth))
			for i, s := range sorted {
				assert.Equal(t, i, s, "every side once")
			}
		}
	}
	assert.Len(t, order(2, 3, 1), 6, "an odd number of rounds ends half way")
}

func TestQuantile(t *testing.T) {
	assert.Equal(t, 2.5, median([]float64{4, 1, 3, 2}))
	assert.Equal(t, 3.0, median([]float64{3}))
	assert.True(t, math.IsNaN(median(nil)))
	assert.Equal(t, 1.0, quantile([]float64{1, 2, 3}, 0))
	assert.Equal(t, 3.0, quantile([]float64{1, 2, 3}, 1))
}

// TestBootstrap: the interval of the median covers the true one as often as it
// says, and narrows with the samples.
func TestBootstrap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	covered, width := 0, map[int]float64{}
	const trials = 60
	for _, n := range []int{15, 61} {
		for range trials {
			v := make([]float64, n)
			for i := range v {
				v[i] = 10 + r.NormFloat64()
			}
			low, high := bootstrap(v, 1)
			width[n] += high - low
			if low <= 10 && 10 <= high {
				covered++
			}
			assert.LessOrEqual(t, low, median(v))
			assert.GreaterOrEqual(t, high, median(v))
		}
	}
	assert.InDelta(t, 0.95, float64(covered)/(2*trials), 0.05)
	assert.Less(t, width[61], 0.7*width[15])
	low, high := bootstrap([]float64{2, 2, 2}, 1)
	assert.Equal(t, [2]float64{2, 2}, [2]float64{low, high})
}

func TestRound(t *testing.T) {
	assert.Equal(t, 1.235, round(1.23456))
	assert.Equal(t, 123500.0, round(123456.0))
	assert.Equal(t, 0.0, round(math.NaN()))
	assert.Equal(t, -0.01234, round(-0.0123411))
}

// TestCompare: a side that does twice the work shows twice the time, on one
// thread and on two.
func TestCompare(t *testing.T) {
	work := func(times int) func(int) int {
		return func(n int) int {
			x := uint32(1)
			for range n * times {
				x = scatter(x)
			}
			sinkWord.Store(x)
			return n
		}
	}
	before := 0
	sides := []side{{run: work(20), before: func() { before++ }}, {run: work(40)}, {threads: 2, runOn: func(_, n int) int { return work(20)(n) }}}
	ns := compare(plan{rounds: 15, slice: time.Millisecond, seed: 1}, sides)
	require.Len(t, ns, 3)
	for _, v := range ns {
		require.Len(t, v, 15)
	}
	assert.InDelta(t, 2, median(ratios(ns[1], ns[0])), 0.3)
	assert.InDelta(t, 2, median(ratios(ns[0], ns[2])), 0.7, "two threads")
	assert.GreaterOrEqual(t, before, 15)
}

var sinkWord atomic.Uint32

func TestTier(t *testing.T) {
	c := caches{l2: 1 << 20, llc: 32 << 20}
	assert.Equal(t, []string{"L2", "LLC", "DRAM"}, []string{c.tier(1 << 20), c.tier(1<<20 + 1), c.tier(1 << 30)})
	c = readCaches()
	assert.Positive(t, c.l2)
	assert.GreaterOrEqual(t, c.llc, c.l2)
}

// TestKeys: keys of different numbers are different, in both families.
func TestKeys(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		seen := map[flowtable.Key]bool{}
		for _, first := range []uint32{0, firstFresh, firstMiss} {
			for i := range uint32(20_000) {
				k := keyAt(first+i, v6)
				require.False(t, seen[k])
				require.Equal(t, !v6, k.Is4())
				seen[k] = true
			}
		}
	}
}

func TestStream(t *testing.T) {
	s := stream(100, 640, "shuffled", 1)
	assert.Len(t, s, 640)
	for i, n := range slices.Sorted(slices.Values(s)) {
		assert.Equal(t, uint32(100+i), n)
	}
	z := stream(0, 100_000, "zipf", 1)
	top := 0
	for _, n := range z {
		if n < 10 {
			top++
		}
	}
	assert.Greater(t, top, len(z)/10, "few flows send much")
}

// TestJhash checks the additive form against the words written out, and that
// every word counts.
func TestJhash(t *testing.T) {
	j := jhashKeys{0x12345678, 0x9abcdef0}
	k := flowtable.Key{Laddr: flowtable.V4(0x0a000001), Faddr: flowtable.V4(0xc0000201), Fport: 443, Lport: 9}
	assert.Equal(t, jhash3(0x0a000001, 0xc0000201, 443, j.secret+j.mix), j.ehashfn(&k, 0))
	for _, v6 := range []bool{false, true} {
		seen := map[uint32]bool{}
		for i := range uint32(20_000) {
			k := keyAt(i, v6)
			seen[j.ehashfn(&k, 0)+uint32(k.Lport)] = true
			assert.NotEqual(t, j.ehashfn(&k, 0), j.ehashfn(&k, 1))
		}
		assert.Greater(t, len(seen), 19_990, "collisions as of random numbers")
	}
}

// TestJhashFinal: lookup3's hashword of three words, written out from its
// published definition without the shortcuts of the code under test.
func TestJhashFinal(t *testing.T) {
	rot := func(x uint32, k int) uint32 { return x<<k | x>>(32-k) }
	r := rand.New(rand.NewPCG(2, 2))
	for range 1000 {
		x, y, z, iv := r.Uint32(), r.Uint32(), r.Uint32(), r.Uint32()
		a := uint32(0xdeadbeef) + 3<<2 + iv
		b, c := a, a
		a, b, c = a+x, b+y, c+z
		for _, step := range []struct {
			to, from *uint32
			k        int
		}{{&c, &b, 14}, {&a, &c, 11}, {&b, &a, 25}, {&c, &b, 16}, {&a, &c, 4}, {&b, &a, 14}, {&c, &b, 24}} {
			*step.to ^= *step.from
			*step.to -= rot(*step.from, step.k)
		}
		require.Equal(t, c, jhash3(x, y, z, iv))
	}
}

func TestChurnTakesRuns(t *testing.T) {
	taken := churn(40_000, 44_095, 1)
	assert.InDelta(t, 0.9, float64(len(taken))/4096, 0.08)
	slices.Sort(taken)
	runs := 1
	for i := 1; i < len(taken); i++ {
		require.NotEqual(t, taken[i-1], taken[i])
		if taken[i] != taken[i-1]+1 {
			runs++
		}
	}
	free := 4096 - len(taken)
	assert.Less(t, runs, free, "free ports lie together more often than random ones would")
}

// run runs the command as a user does.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	app := &cli.App{Name: "edemux", Writer: &out, ErrWriter: &out, Commands: []*cli.Command{Command()}, ExitErrHandler: func(*cli.Context, error) {}}
	err := app.Run(append([]string{"edemux", "bench"}, args...))
	return out.String(), err
}

func TestCommandJSON(t *testing.T) {
	out, err := run(t, "table", "--json", "--family", "v4", "--flows", "640", "--rounds", "2", "--slice", "100us")
	require.NoError(t, err)
	var got struct {
		Bench string
		Rows  []map[string]any
	}
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	assert.Equal(t, "table", got.Bench)
	require.NotEmpty(t, got.Rows)
	for _, name := range []string{"structure", "family", "op", "order", "pages", "tier"} {
		assert.IsType(t, "", got.Rows[0][name], name)
	}
	for _, name := range []string{"flows", "load", "threads", "ns_per_op", "bytes_per_flow", "ratio"} {
		assert.IsType(t, 0.0, got.Rows[0][name], name)
	}
	out, err = run(t, "table", "--family", "v4", "--flows", "640", "--rounds", "2", "--slice", "100us")
	require.NoError(t, err)
	assert.Contains(t, out, "structure")
	assert.Contains(t, out, "ehash")
}

// TestRowNames: every benchmark's rows have the names that readers of the JSON
// rely on.
func TestRowNames(t *testing.T) {
	for name, c := range map[string]struct {
		row  any
		want string
	}{
		"connect":    {ConnectRow{}, "family method hash occupancy threads connects_per_s candidates_per_connect ns_per_candidate lat_p50_us lat_p99_us speedup"},
		"isolation":  {IsolationRow{}, "op layout buckets neighbour sockets chain vrfs pages mops ns_per_link vs_empty"},
		"table":      {TableRow{}, "structure family flows load op threads order pages tier ns_per_op bytes_per_flow ratio"},
		"listen":     {ListenRow{}, "listeners rules vrfs op ns_per_lookup"},
		"reuseport":  {ReuseportRow{}, "family members program hash mpps ns_saved hash_ns gain ci_low ci_high"},
		"earlydemux": {EarlyRow{}, "family proto traffic sources footprint routes mode early_demux mpps ns_per_packet gain ci_low ci_high"},
	} {
		b, err := json.Marshal(c.row)
		require.NoError(t, err)
		var got map[string]any
		require.NoError(t, json.Unmarshal(b, &got))
		for _, field := range bytes.Fields([]byte(c.want)) {
			assert.Contains(t, got, string(field), name)
		}
	}
}

func TestCommandRefuses(t *testing.T) {
	for _, args := range [][]string{
		{"table", "--family", "v5"}, {"table", "--flows", "-1"}, {"table", "x"}, {"connect", "--rounds", "-1"}, {"listen", "--slice", "2m"}, {"nothing"}, {},
	} {
		_, err := run(t, args...)
		assert.Error(t, err, "%v", args)
	}
}

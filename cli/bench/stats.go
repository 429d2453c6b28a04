package bench

import (
	"math"
	"math/rand/v2"
	"slices"
)

// quantile is the q-quantile of sorted values, interpolated; NaN of none.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// median of values, which stay as they are.
func median(v []float64) float64 { return quantile(slices.Sorted(slices.Values(v)), 0.5) }

// resamples is how many times the bootstrap draws: the ends of a 95 % interval
// are then averages over dozens of draws.
const resamples = 2000

// bootstrap is the 95 % percentile interval of the median: the samples are
// drawn anew, with replacement, and the medians of the draws are ranked.
func bootstrap(v []float64, seed uint64) (low, high float64) {
	if len(v) == 0 {
		return math.NaN(), math.NaN()
	}
	r := rand.New(rand.NewPCG(seed, uint64(len(v))))
	medians := make([]float64, resamples)
	draw := make([]float64, len(v))
	for i := range medians {
		for j := range draw {
			draw[j] = v[r.IntN(len(v))]
		}
		slices.Sort(draw)
		medians[i] = quantile(draw, 0.5)
	}
	slices.Sort(medians)
	return quantile(medians, 0.025), quantile(medians, 0.975)
}

// ratios divides a by b, round by round: what the two sides have in common in a
// round (a busy neighbour, another clock frequency) cancels out.
func ratios(a, b []float64) []float64 {
	r := make([]float64, min(len(a), len(b)))
	for i := range r {
		r[i] = a[i] / b[i]
	}
	return r
}

// round keeps four significant digits: more would pretend precision.
func round(x float64) float64 {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	p := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(x))))
	return math.Round(x*p) / p
}

package bench

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Options are what every benchmark takes.
type Options struct {
	Full   bool
	Seed   uint64
	Rounds int           // measured slices of each side; 0: the benchmark's own number
	Slice  time.Duration // length of a slice; 0: the benchmark's own
	Say    func(format string, args ...any)
}

// say tells a person at a terminal what is being measured.
func (o *Options) say(format string, args ...any) {
	if o.Say != nil {
		o.Say(format, args...)
	}
}

// plan is how one group of sides is measured.
func (o *Options) plan(rounds int, slice time.Duration) plan {
	if o.Rounds > 0 {
		rounds = o.Rounds
	}
	if o.Slice > 0 {
		slice = o.Slice
	}
	return plan{rounds: rounds, slice: slice, seed: o.Seed}
}

type plan struct {
	rounds int
	slice  time.Duration
	seed   uint64
}

// side is one of the things that are compared.
type side struct {
	// run does about n operations and returns how many it did.
	run func(n int) int
	// before runs ahead of each slice, outside the measured time.
	before func()
	after  func() // runs once, when everything is measured
	// threads, when more than one, has each of them call runOn(thread, n) at
	// the same time instead of run.
	threads int
	runOn   func(thread, n int) int
}

// order is the sequence of slices: all sides forward, then all backward, so
// that what changes slowly (temperature, neighbours) falls on each alike: ABBA
// for two sides. Each pair of rounds begins with another side.
func order(sides, rounds int, seed uint64) (seq []int) {
	r := rand.New(rand.NewPCG(seed, 1))
	for n := 0; n < rounds; n++ {
		if n%2 == 0 {
			perm := r.Perm(sides)
			seq = append(seq, perm...)
			continue
		}
		back := slices.Clone(seq[len(seq)-sides:])
		slices.Reverse(back)
		seq = append(seq, back...)
	}
	return seq
}

// compare measures all sides in alternation and returns the ns per operation of
// each slice: [side][round]. It is thread CPU time, of one operation of the
// whole when several threads work at it.
func compare(p plan, sides []side) [][]float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	out := make([][]float64, len(sides))
	n := make([]int, len(sides))
	for i := range sides {
		n[i] = calibrate(&sides[i], p.slice)
	}
	runtime.GC()
	for _, i := range order(len(sides), p.rounds, p.seed) {
		out[i] = append(out[i], sides[i].slice(n[i]))
	}
	for i := range sides {
		if sides[i].after != nil {
			sides[i].after()
		}
	}
	return out
}

// calibrate finds how many operations fill a slice; it also warms up.
func calibrate(s *side, d time.Duration) int {
	n := 1
	for {
		ns := min(s.slice(n), s.slice(n)) * float64(n) // the first one may find memory missing
		switch {
		case ns >= float64(d)/2 || n >= 1<<30:
			return max(1, int(float64(n)*float64(d)/max(ns, 1)))
		case ns < float64(d)/64:
			n *= 8
		default:
			n *= 2
		}
	}
}

// slice runs n operations and returns the ns of one.
func (s *side) slice(n int) float64 {
	if s.before != nil {
		s.before()
	}
	if s.threads > 1 {
		return s.parallel(n)
	}
	t := threadTime()
	done := s.run(n)
	t = threadTime() - t
	return perOp(t, done)
}

// parallel is slice on several threads: their rates add up, each by the time in
// which its thread had a core.
func (s *side) parallel(n int) float64 {
	rate := make([]float64, s.threads)
	var ready, done sync.WaitGroup
	ready.Add(s.threads)
	for i := range s.threads {
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			ready.Wait()
			t := threadTime()
			ops := s.runOn(i, n)
			rate[i] = 1 / perOp(threadTime()-t, ops)
		})
	}
	done.Wait()
	sum := 0.0
	for _, r := range rate {
		sum += r
	}
	return 1 / sum
}

// clockCost is the ns between two readings of the thread clock with nothing
// between them.
var clockCost = sync.OnceValue(func() float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	v := make([]float64, 101)
	for i := range v {
		t := threadTime()
		v[i] = float64(threadTime() - t)
	}
	return median(v)
})

// perOp is the ns of one of n operations that took t, reading the clock apart.
func perOp(t int64, n int) float64 {
	return max(1, float64(t)-clockCost()) / float64(max(n, 1))
}

package bench

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Occupancy is the share of a peer's ports that are taken, or one of the words
// one_free, none_free and churn.
type Occupancy struct {
	Share float64
	Word  string
}

// MarshalJSON writes a number, or a word.
func (o Occupancy) MarshalJSON() ([]byte, error) {
	if o.Word != "" {
		return json.Marshal(o.Word)
	}
	return json.Marshal(o.Share)
}

func (o Occupancy) String() string {
	if o.Word != "" {
		return o.Word
	}
	return fmt.Sprint(o.Share)
}

// Connect are the options of `bench connect`.
type Connect struct {
	Options
	Families    []string
	Occupancies []Occupancy
	Threads     []int
	Low, High   int // ip_local_port_range
}

func (o *Connect) defaults() {
	o.Families, o.Threads = []string{"v4", "v6"}, []int{1, 2}
	o.Low, o.High = 32768, 60999
	o.Occupancies = []Occupancy{{Share: 0}, {Share: 0.5}, {Share: 0.95}, {Share: 0.999}, {Word: "one_free"}, {Word: "none_free"}, {Word: "churn"}}
}

// ConnectRow is one line of `bench connect`. Times are of a whole connect, its
// insertion included; with several threads connects_per_s is their sum and the
// other times are each thread's.
type ConnectRow struct {
	Family      string    `json:"family"`
	Method      string    `json:"method"`
	Hash        string    `json:"hash"`
	Occupancy   Occupancy `json:"occupancy"`
	Threads     int       `json:"threads"`
	PerSecond   float64   `json:"connects_per_s"`
	Candidates  float64   `json:"candidates_per_connect"`
	NsCandidate float64   `json:"ns_per_candidate"`
	P50         float64   `json:"lat_p50_us"`
	P99         float64   `json:"lat_p99_us"`
	Speedup     float64   `json:"speedup"` // against recomputed with jhash
}

// connectSides are the ways of hashing, the baseline of the kernel's commit
// d4438ce68bf1 first.
var connectSides = []struct{ method, hash string }{
	{"recomputed", "jhash"}, {"incremental", "jhash"}, {"mixed", "jhash"},
	{"recomputed", "own"}, {"incremental", "own"}, {"mixed", "own"},
}

// RunConnect connects to one peer, as the published run did, of whose ports some
// are taken, with the port search of Linux and six ways to hash a candidate.
func RunConnect(o Connect) (rows []*ConnectRow, err error) {
	for _, family := range o.Families {
		for _, occ := range o.Occupancies {
			o.say("connect: %s, occupancy %v", family, occ)
			b, err := newConnectBench(&o, family == "v6", occ)
			if err != nil {
				return nil, err
			}
			for _, threads := range o.Threads {
				rows = append(rows, b.measure(family, threads)...)
			}
			b.close()
		}
	}
	return rows, nil
}

// connectBench is one occupancy of one family.
type connectBench struct {
	o      *Connect
	occ    Occupancy
	v6     bool
	taken  []int // ports, in random order
	batch  int   // connects before they all close
	sides  []*connector
	tables map[string]*portTable
}

func newConnectBench(o *Connect, v6 bool, occ Occupancy) (*connectBench, error) {
	b := &connectBench{o: o, occ: occ, v6: v6, tables: map[string]*portTable{}}
	b.occupy()
	for i := range connectSides {
		c, err := newConnector(b, i)
		if err != nil {
			b.close()
			return nil, err
		}
		b.sides = append(b.sides, c)
	}
	return b, nil
}

func (b *connectBench) close() {
	for _, t := range b.tables {
		t.t.Close()
	}
}

// occupy chooses the ports that are taken. A batch of connects takes at most a
// tenth of the free ones before its flows close, so that the occupancy stays
// what the row says, on average.
func (b *connectBench) occupy() {
	n := b.o.High - b.o.Low + 1
	free := int((1-b.occ.Share)*float64(n) + 0.5)
	switch b.occ.Word {
	case "one_free":
		free = 1
	case "none_free":
		free = 0
	case "churn":
		b.taken = churn(b.o.Low, b.o.High, b.o.Seed)
		b.batch = 16
		return
	}
	b.batch = min(max(1, free/10), 128)
	if free > 1 {
		free = min(n, free+b.batch/2)
	}
	r := rand.New(rand.NewPCG(b.o.Seed, 3))
	b.taken = r.Perm(n)[:n-free]
	for i := range b.taken {
		b.taken[i] += b.o.Low
	}
}

// churn is the ports that a client holds after a long time of connecting at a
// steady rate, each connection living for an exponential time and then in
// TIME_WAIT: the search starts where the last one to this peer ended, so they
// lie in runs. Nine of ten ports are taken.
func churn(low, high int, seed uint64) (taken []int) {
	r := rand.New(rand.NewPCG(seed, 4))
	n := (high - low + 1) &^ 1
	until := make([]int, n) // step at which the port is free again
	hold := n * 9 / 10      // steps for which a port is held, on average
	at := 0
	for step := range 4 * n {
		port := -1
		for i := 0; i < n && port < 0; i++ {
			// Even ports first, then odd ones, as the search does.
			if p := (at + 2*i + 2*i/n) % n; until[p] <= step {
				port, at = p, (p+2)%n
			}
		}
		if port >= 0 { // two thirds of the time in TIME_WAIT, which is fixed
			until[port] = step + hold*2/3 + int(r.ExpFloat64()*float64(hold)/3)
		}
		if step%8192 == 0 { // the time seed of the offset changed
			at = r.IntN(n) &^ 1
		}
	}
	for p, u := range until {
		if u > 4*n {
			taken = append(taken, low+p)
		}
	}
	r.Shuffle(len(taken), func(i, j int) { taken[i], taken[j] = taken[j], taken[i] })
	return taken
}

// measure measures all sides with so many threads.
func (b *connectBench) measure(family string, threads int) (rows []*ConnectRow) {
	p := b.o.plan(61, 4*time.Millisecond)
	sides := make([]side, len(b.sides))
	for i, c := range b.sides {
		c.candidates.Store(0)
		c.connects.Store(0)
		sides[i] = c.side(b.batch, threads)
	}
	ns := compare(p, sides)
	for i, c := range b.sides {
		lat := c.latencies(b.batch, threads, max(2, p.rounds))
		per := median(ns[i])
		tried := float64(c.candidates.Load()) / float64(max(c.connects.Load(), 1))
		rows = append(rows, &ConnectRow{
			Family: family, Method: c.method, Hash: c.hash, Occupancy: b.occ, Threads: threads,
			PerSecond: round(1e9 / per), Candidates: round(tried), NsCandidate: round(per * float64(threads) / tried),
			P50: round(quantile(lat, 0.5)), P99: round(quantile(lat, 0.99)),
			Speedup: round(median(ratios(ns[0], ns[i]))),
		})
	}
	return rows
}

// side makes the connector a side. Every batch ends with its flows closing, the
// sweep outside the measured time.
func (c *connector) side(batch, threads int) side {
	s := side{threads: threads, before: c.closeAll}
	s.runOn = func(_, n int) int {
		n = min(n, max(1, batch/threads))
		c.connectMany(n, nil)
		return n
	}
	s.run = func(n int) int { return s.runOn(0, n) }
	return s
}

// latencies is the elapsed times of single connects in µs, sorted, without what
// reading the clock takes.
func (c *connector) latencies(batch, threads, rounds int) []float64 {
	var mu sync.Mutex
	var all []float64
	each := max(1, batch/threads)
	clock := elapsedCost()
	for range rounds {
		c.closeAll()
		var wg sync.WaitGroup
		for range threads {
			wg.Go(func() {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				lat := make([]float64, each)
				c.connectMany(each, lat)
				mu.Lock()
				defer mu.Unlock()
				all = append(all, lat...)
			})
		}
		wg.Wait()
	}
	for i := range all {
		all[i] = max(0, all[i]-clock) / 1e3
	}
	slices.Sort(all)
	return all
}

// elapsedCost is the ns between two readings of the clock with nothing between.
func elapsedCost() float64 {
	v := make([]float64, 101)
	for i := range v {
		t := time.Now()
		v[i] = float64(time.Since(t))
	}
	return median(v)
}

package bench

import (
	"fmt"
	"runtime"
	"time"

	"edemux/flowtable"

	"github.com/puzpuzpuz/xsync/v3"
)

// Table are the options of `bench table`.
type Table struct {
	Options
	Families []string
	Flows    []int
	Orders   []string
	Threads  []int
	Changes  []int // numbers of flows at which insert and delete are measured
}

// TableRow is one line of `bench table`. NsPerOp is of one key, its hash
// included; with several threads the time divided by what all of them did.
type TableRow struct {
	Structure    string  `json:"structure"`
	Family       string  `json:"family"`
	Flows        int     `json:"flows"`
	Load         float64 `json:"load"` // flows per bucket; 0 where that means nothing
	Op           string  `json:"op"`
	Threads      int     `json:"threads"`
	Order        string  `json:"order"`
	Pages        string  `json:"pages"`
	Tier         string  `json:"tier"`
	NsPerOp      float64 `json:"ns_per_op"`
	BytesPerFlow float64 `json:"bytes_per_flow"`
	Ratio        float64 `json:"ratio"`
}

// defaults are the rows that targets name, or everything.
func (o *Table) defaults() {
	o.Families, o.Flows = []string{"v4", "v6"}, []int{1000, 100_000, 1_000_000, 1 << 24}
	o.Orders, o.Threads, o.Changes = []string{"shuffled"}, []int{1, 2}, []int{1_000_000}
	if o.Full {
		o.Orders, o.Changes = []string{"shuffled", "zipf"}, o.Flows
	}
}

// RunTable compares the flow table with other structures that hold the same
// flows.
func RunTable(o Table) (rows []*TableRow, err error) {
	for _, family := range o.Families {
		for _, n := range o.Flows {
			o.say("table: %s, %d flows", family, n)
			var more []*TableRow
			if family == "v4" {
				more, err = tableRows(&o, family, n, small4)
			} else {
				more, err = tableRows(&o, family, n, small6)
			}
			if err != nil {
				return nil, err
			}
			rows = append(rows, more...)
		}
	}
	return rows, nil
}

// holder is a structure with n flows in it.
type holder[K comparable] struct {
	name  string
	bytes float64 // per flow
	load  float64
	pages string
	// lookup looks keys[at:at+n] up, n a multiple of burst, and returns the hits.
	lookup func(l *keys[K], at, n int) int
	// put and drop change flows one by one; nil: the structure has no such thing.
	put, drop func(l *keys[K], i int)
	shared    bool // threads may look up at the same time
	hitOnly   bool // it cannot tell what is there
	close     func()
}

// keys are the same flows in the forms that the structures take.
type keys[K comparable] struct {
	full  []flowtable.Key
	small []K
	raw   []byte // for C, in builds that have use for it
}

func makeKeys[K comparable](numbers []uint32, v6 bool, small func(*flowtable.Key) K) *keys[K] {
	l := &keys[K]{full: make([]flowtable.Key, len(numbers)), small: make([]K, len(numbers))}
	for i, n := range numbers {
		l.full[i] = keyAt(n, v6)
		l.small[i] = small(&l.full[i])
		if rawKeys {
			l.raw = appendRaw(l.raw, &l.full[i])
		}
	}
	return l
}

// tableRows builds every structure with n flows and measures it.
func tableRows[K comparable](o *Table, family string, n int, small func(*flowtable.Key) K) (rows []*TableRow, err error) {
	v6 := family == "v6"
	release := reserveHuge(uint64(n) * 160)
	defer release()
	holders, err := buildHolders(o, n, v6, small)
	defer func() {
		for _, h := range holders {
			h.close()
		}
	}()
	if err != nil {
		return nil, err
	}
	for _, order := range o.Orders {
		hits := makeKeys(stream(0, n, order, o.Seed), v6, small)
		misses := makeKeys(stream(firstMiss, n, order, o.Seed), v6, small)
		for _, threads := range o.Threads {
			for _, op := range []string{"hit", "miss"} {
				l := hits
				if op == "miss" {
					l = misses
				}
				rows = append(rows, measureTable(o, holders, family, n, order, op, threads, l)...)
			}
		}
	}
	for _, m := range o.Changes {
		if m == n {
			fresh := makeKeys(stream(firstFresh, min(n, 1<<16), "shuffled", o.Seed), v6, small)
			for _, op := range []string{"insert", "delete"} {
				rows = append(rows, measureTable(o, holders, family, n, "shuffled", op, 1, fresh)...)
			}
		}
	}
	return rows, nil
}

// measureTable measures one operation on every structure that has it.
func measureTable[K comparable](o *Table, holders []*holder[K], family string, n int, order, op string, threads int, l *keys[K]) []*TableRow {
	var sides []side
	var rows []*TableRow
	for _, h := range holders {
		s, ok := tableSide(h, op, threads, l)
		if !ok {
			continue
		}
		sides = append(sides, s)
		rows = append(rows, &TableRow{
			Structure: h.name, Family: family, Flows: n, Load: round(h.load), Op: op, Threads: threads, Order: order,
			Pages: h.pages, Tier: readCaches().tier(uint64(h.bytes * float64(n))), BytesPerFlow: round(h.bytes),
		})
	}
	ns := compare(o.plan(15, 8*time.Millisecond), sides)
	for i, r := range rows {
		r.NsPerOp = round(median(ns[i]))
		r.Ratio = round(median(ratios(ns[i], ns[0])))
	}
	return rows
}

// tableSide makes a side of one structure and operation.
func tableSide[K comparable](h *holder[K], op string, threads int, l *keys[K]) (s side, ok bool) {
	switch op {
	case "hit", "miss":
		at := make([]int, threads)
		for i := range at {
			at[i] = len(l.full) / burst * i / threads * burst
		}
		s.threads, s.runOn = threads, func(thread, n int) int { return lookMany(h, l, &at[thread], n, op == "hit") }
		s.run = func(n int) int { return s.runOn(0, n) }
		return s, (threads == 1 || h.shared) && !(h.hitOnly && op == "miss")
	case "insert", "delete":
		return changeSide(h, op == "insert", l), h.put != nil
	}
	return s, false
}

// lookMany does n lookups, whole bursts, from *at on, and goes round.
func lookMany[K comparable](h *holder[K], l *keys[K], at *int, n int, hit bool) (done int) {
	for done < n {
		m := min((n-done+burst-1)/burst*burst, len(l.full)-*at)
		hits := h.lookup(l, *at, m)
		if hit && hits != m || !hit && hits != 0 {
			panic(fmt.Sprintf("bench table: %s found %d of %d", h.name, hits, m))
		}
		if done += m; *at+m == len(l.full) {
			*at = 0
		} else {
			*at += m
		}
	}
	return done
}

// changeSide inserts or deletes the flows of l; the opposite happens outside
// the measured time.
func changeSide[K comparable](h *holder[K], insert bool, l *keys[K]) (s side) {
	there := 0 // the first so many are in the structure
	s.after = func() {
		for ; there > 0; there-- {
			h.drop(l, there-1)
		}
	}
	if insert {
		s.before = s.after
		s.run = func(n int) int {
			for there = 0; there < min(n, len(l.full)); there++ {
				h.put(l, there)
			}
			return there
		}
		return s
	}
	s.before = func() {
		for ; there < len(l.full); there++ {
			h.put(l, there)
		}
	}
	s.run = func(n int) int {
		n = min(n, len(l.full))
		for range n {
			there--
			h.drop(l, there)
		}
		return n
	}
	return s
}

// buildHolders fills every structure. The flow table comes first: the others
// are compared with it.
func buildHolders[K comparable](o *Table, n int, v6 bool, small func(*flowtable.Key) K) (out []*holder[K], err error) {
	e, err := ehashHolder[K](n, v6, o.Seed)
	if err != nil {
		return nil, err
	}
	out = append(out, e.holder)
	out = append(out, goMapHolder(n, v6, small), xsyncHolder(n, v6, small))
	g, err := gatherHolder(e)
	if err != nil {
		return out, err
	}
	out = append(out, g)
	c, err := rteHolders[K](o, n, v6)
	return append(out, c...), err
}

// heapUse is how much of the Go heap build takes.
func heapUse(build func()) uint64 {
	var a, b runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&a)
	build()
	runtime.GC()
	runtime.GC() // what the first one found dead while build ran
	runtime.ReadMemStats(&b)
	return b.HeapAlloc - min(a.HeapAlloc, b.HeapAlloc)
}

func goMapHolder[K comparable](n int, v6 bool, small func(*flowtable.Key) K) *holder[K] {
	var m map[K]uint32
	used := heapUse(func() {
		m = make(map[K]uint32, n)
		for i := range n {
			k := keyAt(uint32(i), v6)
			m[small(&k)] = uint32(i)
		}
	})
	return &holder[K]{
		name: "gomap", bytes: float64(used) / float64(n), pages: "4k", shared: true,
		lookup: func(l *keys[K], at, n int) (hits int) {
			for _, k := range l.small[at : at+n] {
				if _, ok := m[k]; ok {
					hits++
				}
			}
			return hits
		},
		put:   func(l *keys[K], i int) { m[l.small[i]] = uint32(i) },
		drop:  func(l *keys[K], i int) { delete(m, l.small[i]) },
		close: func() { m = nil },
	}
}

func xsyncHolder[K comparable](n int, v6 bool, small func(*flowtable.Key) K) *holder[K] {
	var m *xsync.MapOf[K, uint32]
	used := heapUse(func() {
		m = xsync.NewMapOf[K, uint32](xsync.WithPresize(n))
		for i := range n {
			k := keyAt(uint32(i), v6)
			m.Store(small(&k), uint32(i))
		}
	})
	return &holder[K]{
		name: "xsync", bytes: float64(used) / float64(n), pages: "4k", shared: true,
		lookup: func(l *keys[K], at, n int) (hits int) {
			for _, k := range l.small[at : at+n] {
				if _, ok := m.Load(k); ok {
					hits++
				}
			}
			return hits
		},
		put:   func(l *keys[K], i int) { m.Store(l.small[i], uint32(i)) },
		drop:  func(l *keys[K], i int) { m.Delete(l.small[i]) },
		close: func() { m = nil },
	}
}

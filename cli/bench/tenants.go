package bench

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"edemux/cli/gen"
	"edemux/flowtable"
)

// tenants is a victim with some VRFs, and beside it a neighbour with a crowd of
// flows: in the same table, or in another one.
type tenants struct {
	hall    hall
	hs      *flowtable.Hasher
	tables  []*flowtable.Table // of the victim; one in the layouts shared and growing
	other   *flowtable.Table   // the neighbour's, when it has its own
	victims []*flowtable.Space // by VRF
	foreign *flowtable.Space
	gen     gen.Options // makes the victim's packets
	there   []bool      // by flow: it is in the table; the other half misses
	flows   []flowtable.Key
	walk    []int // flows in the order of their packets
	at      int
	closers []func()
}

// furnish builds the tables of a hall and fills them, the victim's flows at
// random places among the neighbour's.
func furnish(o *Isolation, h hall) (*tenants, error) {
	t := &tenants{hall: h, hs: flowtable.NewHasher(secretOf(o.Seed))}
	t.closers = append(t.closers, reserveHuge(uint64(h.sockets)*110))
	if err := t.open(); err != nil {
		t.close()
		return nil, err
	}
	t.gen = gen.Options{Flows: 2 * o.Victims, Packets: int64(max(framesHeld, 2*o.Victims)), Order: "shuffle", Size: "64", Rate: 1e6, Seed: o.Seed}
	for v := range h.vrfs {
		t.gen.VLANs = append(t.gen.VLANs, strconv.Itoa(vlanOf(v)))
	}
	err := gen.EachFlow(t.gen, func(k flowtable.Key, _ bool) {
		t.there = append(t.there, len(t.flows)/h.vrfs%2 == 0)
		t.flows = append(t.flows, k)
	})
	if err == nil {
		err = t.fill(o.Seed)
	}
	if err != nil {
		t.close()
		return nil, err
	}
	t.walk = make([]int, max(len(t.flows), 1<<14)/burst*burst)
	for i := range t.walk {
		t.walk[i] = i % len(t.flows)
	}
	r := rand.New(rand.NewPCG(o.Seed, 6))
	r.Shuffle(len(t.walk), func(i, j int) { t.walk[i], t.walk[j] = t.walk[j], t.walk[i] })
	return t, nil
}

// vlanOf is the tag of a VRF's interface.
func vlanOf(vrf int) int { return 1 + vrf }

// vrfName is the name of a victim's VRF.
func vrfName(vrf int) string { return "v" + strconv.Itoa(vrf) }

// open makes the tables and spaces of the layout.
func (t *tenants) open() error {
	h := t.hall
	table := func(name string, buckets, most uint32, flows uint64, shared bool) (*flowtable.Table, error) {
		n, err := flowtable.New(flowtable.Config{
			Name: name, Buckets: buckets, Max: most, Flows: flows, Hasher: t.hs, Shared: shared, Inline: true,
		})
		if err == nil {
			t.closers = append(t.closers, n.Close)
		}
		return n, err
	}
	crowd := uint64(h.sockets) + 1<<16
	var err error
	switch h.layout {
	case "own":
		size := max(uint32(1024), uint32(1)<<(bits.Len32(h.buckets/uint32(h.vrfs))-1))
		for v := range h.vrfs {
			n, err := table(vrfName(v), size, size, 1<<17, false)
			if err != nil {
				return err
			}
			t.tables = append(t.tables, n)
		}
		t.other, err = table("foreign", h.buckets, flowtable.MaxBuckets, crowd, true)
	case "shared":
		t.other, err = table("shared", h.buckets, h.buckets, crowd, true)
		t.tables = []*flowtable.Table{t.other}
	case "growing":
		t.other, err = table("growing", h.buckets, flowtable.MaxBuckets, crowd, true)
		t.tables = []*flowtable.Table{t.other}
	default:
		err = fmt.Errorf("no layout %q", h.layout)
	}
	if err != nil {
		return err
	}
	for v := range h.vrfs {
		s, err := t.tables[v%len(t.tables)].Space(vrfName(v), t.hs.Seed(vrfName(v)), flowtable.Limits{})
		if err != nil {
			return err
		}
		t.victims = append(t.victims, s)
	}
	t.foreign, err = t.other.Space("foreign", t.hs.Seed("foreign"), flowtable.Limits{})
	return err
}

// close gives everything back; on nil it does nothing.
func (t *tenants) close() {
	if t == nil {
		return
	}
	for _, f := range slices.Backward(t.closers) {
		f()
	}
	t.closers = nil
}

// hash is the hash of a key in a space.
func (t *tenants) hash(s *flowtable.Space, k *flowtable.Key) uint32 {
	return t.hs.Sum(s.Seed(), k.Laddr, k.Faddr, k.Fport).Hash(k.Lport)
}

// insert adds a flow of a VRF's socket, which has the VRF's number.
func (t *tenants) insert(s *flowtable.Space, k *flowtable.Key, vrf int) (flowtable.Ref, error) {
	return s.Insert(t.hash(s, k), k, flowtable.Flow{Sock: uint32(1 + vrf), Bdi: dev(vrf, 0).Dif}, 0)
}

// drop deletes flow i of the victim. A neighbour that holds the bucket, or moves
// the flow between the lookup and the deletion, is waited for.
func (t *tenants) drop(i int, k *flowtable.Key) {
	s, d := t.victim(i), dev(i%len(t.victims), len(t.victims))
	for {
		r := s.Lookup(t.hash(s, k), k, d, 0)
		if r == 0 || s.Delete(r, k) == nil {
			return
		}
		runtime.Gosched()
	}
}

// dev is the device side of a VRF's packets: the VRF is interface 1+vrf, and
// what is enslaved to it comes after all VRFs.
func dev(vrf, vrfs int) flowtable.Dev {
	return flowtable.Dev{Dif: uint32(1 + vrf), Sdif: uint32(1 + vrfs + vrf)}
}

// victim is the space of flow i: gen gives flows their VLANs in turn.
func (t *tenants) victim(i int) *flowtable.Space { return t.victims[i%len(t.victims)] }

// fill inserts the crowd and, at random moments, the victim's flows.
func (t *tenants) fill(seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 7))
	when := make([]int, 0, len(t.flows))
	for range t.flows {
		when = append(when, r.IntN(t.hall.sockets+1))
	}
	slices.Sort(when)
	order := r.Perm(len(t.flows))
	reader := t.other.Reader()
	defer reader.Close()
	for i, next := 0, 0; i <= t.hall.sockets; i++ {
		for ; next < len(when) && when[next] == i; next++ {
			if n := order[next]; t.there[n] {
				if _, err := t.insert(t.victim(n), &t.flows[n], n%len(t.victims)); err != nil {
					return err
				}
			}
		}
		if i == t.hall.sockets {
			break
		}
		k := keyAt(firstFresh+uint32(i), false)
		if _, err := t.insert(t.foreign, &k, 0); err != nil {
			return fmt.Errorf("foreign flow %d: %w", i, err)
		}
		reader.Quiescent()
	}
	for t.other.Step(1<<20, 0).Moved > 0 {
		reader.Quiescent()
	}
	return nil
}

// disturb keeps a thread inserting and deleting the neighbour's flows.
func (t *tenants) disturb() (stop func()) {
	var done atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		const batch = 1024
		refs := make([]flowtable.Ref, batch)
		for at := uint32(0); !done.Load(); at = (at + batch) % firstFresh {
			for i := range refs {
				k := keyAt(firstMiss+at+uint32(i), false)
				refs[i], _ = t.insert(t.foreign, &k, 0)
			}
			for i, r := range refs {
				k := keyAt(firstMiss+at+uint32(i), false)
				// ErrGone and ErrContended leave a flow: no matter.
				_ = t.foreign.Delete(r, &k)
			}
		}
	})
	return func() {
		done.Store(true)
		wg.Wait()
	}
}

// ahead is how many prefetches of the victim's lookups are under way: the
// packets of a burst belong to several VRFs, so that the burst lookup of one
// space is of no use.
const ahead = 16

// lookups looks up the victim's packets, half of which miss.
func (t *tenants) lookups(n int) (done int) {
	var h [burst]uint32
	for done < n {
		hits, want := 0, 0
		at := t.walk[t.at : t.at+burst]
		for i := range burst + ahead {
			if i < burst {
				s, k := t.victim(at[i]), &t.flows[at[i]]
				h[i] = t.hash(s, k)
				s.Prefetch(h[i], false)
			}
			if j := i - ahead; j >= 0 {
				d := dev(at[j]%len(t.victims), len(t.victims))
				if _, sock := t.victim(at[j]).LookupSock(h[j], &t.flows[at[j]], d, 0); sock != 0 {
					hits++
				}
				if t.there[at[j]] {
					want++
				}
			}
		}
		if hits != want {
			panic(fmt.Sprintf("bench isolation: %d of %d flows found", hits, want))
		}
		if t.at += burst; t.at == len(t.walk) {
			t.at = 0
		}
		done += burst
	}
	return done
}

// inserts puts new flows of the victim in; they leave outside the measured time.
func (t *tenants) inserts() (s side) {
	keys := make([]flowtable.Key, 4096)
	for i := range keys {
		keys[i] = keyAt(uint32(i), false)
	}
	in := 0
	s.run = func(n int) int {
		for in = 0; in < min(n, len(keys)); in++ {
			if _, err := t.insert(t.victim(in), &keys[in], in%len(t.victims)); err != nil {
				panic("bench isolation: insert: " + err.Error())
			}
		}
		return in
	}
	s.before = func() {
		for ; in > 0; in-- {
			t.drop(in-1, &keys[in-1])
		}
	}
	s.after = s.before
	return s
}

// deletes removes VRFs without flows: from the common table, or with a table of
// their own. Opening them is not measured.
func (t *tenants) deletes() (s side) {
	var spaces []*flowtable.Space
	s.after = func() {
		for _, v := range spaces {
			v.Remove()
			if t.hall.layout == "own" {
				v.Table().Close()
			}
		}
		spaces = spaces[:0]
	}
	s.before = func() {
		s.after()
		for i := range 32 {
			name := "passing" + strconv.Itoa(i)
			table := t.other
			if t.hall.layout == "own" {
				var err error
				if table, err = flowtable.New(flowtable.Config{Name: name, Buckets: 1024, Max: 1024, Hasher: t.hs}); err != nil {
					panic("bench isolation: " + err.Error())
				}
			}
			v, err := table.Space(name, t.hs.Seed(name), flowtable.Limits{})
			if err != nil {
				panic("bench isolation: " + err.Error())
			}
			spaces = append(spaces, v)
		}
	}
	s.run = func(n int) (done int) {
		for ; done < n && len(spaces) > 0; done++ {
			last := len(spaces) - 1
			spaces[last].Remove()
			if t.hall.layout == "own" {
				spaces[last].Table().Close()
			}
			spaces = spaces[:last]
		}
		return done
	}
	return s
}

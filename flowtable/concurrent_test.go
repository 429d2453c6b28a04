package flowtable

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// raceScale divides the work of stress tests under the race detector.
var raceScale = 1

// numberKey is the i-th key of a family.
func numberKey(i int, v6 bool) Key {
	k := Key{Laddr: V4(0x0a000001), Faddr: V4(0x0b000000 + uint32(i>>4)), Lport: uint16(i & 15), Fport: uint16(i * 7)}
	if v6 {
		k.Laddr, k.Faddr = Addr{1 << 61, 1}, Addr{1 << 61, uint64(i >> 4)}
	}
	return k
}

// insertRetry inserts, again while the bucket is contended.
func insertRetry(t testing.TB, s *Space, k *Key, f Flow, now int64) Ref {
	for {
		r, err := s.Insert(s.hash(k), k, f, now)
		if err == ErrContended {
			runtime.Gosched()
			continue
		}
		if err != nil {
			t.Errorf("insert %v: %v", *k, err)
		}
		return r
	}
}

// TestGrowthLosesNothing: while a table grows from its smallest size, flows
// that are in it are found by every lookup, one at a time and in bursts, by
// registered threads and by others, and All shows each of them once.
func TestGrowthLosesNothing(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		for _, inline := range []bool{false, true} {
			t.Run(fmt.Sprintf("v6=%v/inline=%v", v6, inline), func(t *testing.T) { growthTest(t, v6, inline) })
		}
	}
}

func growthTest(t *testing.T, v6, inline bool) {
	n := 200_000 / raceScale
	hs := NewHasher(Secret{4})
	tb, err := New(Config{Name: "growth", Buckets: 16, Max: 1 << 20, Hasher: hs, Inline: inline})
	noErr(t, err)
	defer tb.Close()
	s, err := tb.Space("default", hs.Seed("default"), Limits{})
	noErr(t, err)
	var done atomic.Int64 // flows below are in
	var stop atomic.Bool
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			growthReader(t, s, v6, w, &done, &stop)
		}()
	}
	rd := tb.Reader()
	for i := range n {
		k := numberKey(i, v6)
		insertRetry(t, s, &k, Flow{Sock: uint32(i + 1)}, 1)
		done.Store(int64(i + 1))
		if i%64 == 0 {
			tb.Step(100, 1)
			rd.Quiescent()
		}
	}
	stop.Store(true)
	wg.Wait()
	rd.Close()
	for deadline := time.Now().Add(20 * time.Second); tb.Stats().Growing && time.Now().Before(deadline); {
		tb.Step(10000, 1)
	}
	st := tb.Stats()
	equal(t, false, st.Growing)
	equal(t, uint64(n), st.Flows)
	seen := make([]bool, n)
	s.All(func(k Key, f Flow) bool {
		equal(t, false, seen[f.Sock-1], "seen twice", k)
		seen[f.Sock-1] = true
		equal(t, numberKey(int(f.Sock-1), v6), k)
		return true
	})
	for i := range seen {
		equal(t, true, seen[i], i)
	}
}

// growthReader looks up flows that are in.
func growthReader(t *testing.T, s *Space, v6 bool, w int, done *atomic.Int64, stop *atomic.Bool) {
	r := rand.New(rand.NewPCG(uint64(w), 1))
	var rd *Reader
	if w != 2 { // one goroutine has not registered
		rd = s.t.Reader()
		defer rd.Close()
	}
	var h [20]uint32
	var k [20]Key
	var refs [20]Ref
	var socks [20]uint32
	for !stop.Load() {
		have := int(done.Load())
		if have == 0 {
			continue
		}
		for i := range k {
			k[i] = numberKey(r.IntN(have), v6)
			h[i] = s.hash(&k[i])
		}
		if w == 0 {
			if hits := s.LookupBurst(h[:], k[:], Dev{}, 1, refs[:], socks[:]); hits != len(k) {
				t.Errorf("%d of %d present flows found", hits, len(k))
				return
			}
		}
		for i := range k {
			if ref, sock := s.LookupSock(h[i], &k[i], Dev{}, 1); ref == 0 || numberKey(int(sock-1), v6) != k[i] {
				t.Errorf("flow %v: ref %d sock %d", k[i], ref, sock)
				return
			}
		}
		if rd != nil {
			rd.Quiescent()
		}
	}
}

// TestEverythingAtOnce: writers that each own some keys insert, update and
// delete them and know what must be there; others look up, step the clock,
// list the table, and open, fill and remove VRFs in it, while it grows.
func TestEverythingAtOnce(t *testing.T) {
	hs := NewHasher(Secret{4})
	tb, err := New(Config{Name: "all", Buckets: 16, Max: 1 << 14, Flows: 1 << 17, Hasher: hs, Shared: true})
	noErr(t, err)
	defer tb.Close()
	s, err := tb.Space("default", hs.Seed("default"), Limits{})
	noErr(t, err)
	var now atomic.Int64
	now.Store(1)
	var stop atomic.Bool
	var wg, bg sync.WaitGroup
	for w := range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			ownWriter(t, s, w, 60_000/raceScale, &now)
		}()
	}
	background := func(f func(i int)) {
		bg.Add(1)
		go func() {
			defer bg.Done()
			rd := tb.Reader()
			defer rd.Close()
			for i := 0; !stop.Load(); i++ {
				f(i)
				rd.Quiescent()
			}
		}()
	}
	background(func(int) { tb.Step(50, now.Add(1)) })
	background(func(int) {
		s.All(func(k Key, f Flow) bool {
			if f.Sock != k.sockOf() {
				t.Errorf("flow %v has socket %d", k, f.Sock)
			}
			return true
		})
		time.Sleep(time.Millisecond)
	})
	background(func(i int) { vrfLife(t, tb, hs, i, &now) })
	wg.Wait()
	stop.Store(true)
	bg.Wait()
	tb.Expire(now.Load())
	n := 0
	s.All(func(Key, Flow) bool { n++; return true })
	equal(t, s.Len(), n)
	equal(t, uint64(n), tb.Stats().Flows)
}

// sockOf is the socket that tests give a key.
func (k *Key) sockOf() uint32 { return uint32(k.Faddr.Lo)<<8 ^ uint32(k.Lport) | 1<<31 }

// ownWriter changes keys that nobody else does and checks every answer.
func ownWriter(t *testing.T, s *Space, w, n int, now *atomic.Int64) {
	r := rand.New(rand.NewPCG(uint64(w), 9))
	rd := s.t.Reader()
	defer rd.Close()
	have := map[Key]Flow{}
	for i := range n {
		k := numberKey(r.IntN(4000)*3+w, r.IntN(2) == 0)
		h := s.hash(&k)
		f, ok := have[k]
		ref, sock := s.LookupSock(h, &k, Dev{}, 0) // at time 0 nothing has expired
		if ok && f.Deadline == 0 && (ref == 0 || sock != f.Sock) || !ok && ref != 0 {
			t.Errorf("flow %v: ref %d, present %v", k, ref, ok)
			return
		}
		switch {
		case !ok:
			f = Flow{Sock: k.sockOf(), State: State(r.IntN(3)), Next: uint32(i)}
			if r.IntN(4) == 0 {
				f.Deadline = now.Load() + int64(r.IntN(3000)) + 1
			}
			insertRetry(t, s, &k, f, now.Load())
			have[k] = f
		case r.IntN(2) == 0:
			if err := s.Delete(ref, &k); err == nil || f.Deadline != 0 && err == ErrGone {
				delete(have, k)
			} else if err != ErrContended && err != ErrGone {
				t.Errorf("delete %v: %v", k, err)
			}
		default:
			f.Next = uint32(i)
			if err := s.Update(ref, &k, f); err == nil {
				have[k] = f
			} else if f.Deadline != 0 && err == ErrGone {
				delete(have, k)
			}
			if g, ok := s.Get(ref); ok && g.Sock != f.Sock {
				t.Errorf("get %v: %v", k, g)
			}
		}
		if f.Deadline != 0 && now.Load() >= f.Deadline {
			delete(have, k)
			if ref, _ := s.LookupSock(h, &k, Dev{}, 0); ref != 0 {
				if err := s.Delete(ref, &k); err != nil && err != ErrGone {
					have[k] = f
				}
			}
		}
		rd.Quiescent()
	}
}

// vrfLife opens a VRF, fills it with keys that the default VRF has too, and
// removes it.
func vrfLife(t *testing.T, tb *Table, hs *Hasher, i int, now *atomic.Int64) {
	name := fmt.Sprint("vrf", i%5)
	s, err := tb.Space(name, hs.Seed(name), Limits{})
	noErr(t, err)
	n := i % 50
	for j := range n {
		k := numberKey(j, j%2 == 0)
		insertRetry(t, s, &k, Flow{Sock: 5, State: State(j % 3), Bdi: uint32(j % 4)}, now.Load())
	}
	flows, tw := s.Remove()
	equal(t, n, flows, "flows of a removed VRF")
	equal(t, n/3, tw)
	equal(t, 0, s.Len())
	k := numberKey(0, true)
	equal(t, 0, s.Lookup(s.hash(&k), &k, Dev{}, 0))
}

// TestMemoryComesBack: after growth and a grace period the old sizes are
// unmapped, not before, however the garbage collector runs.
func TestMemoryComesBack(t *testing.T) {
	s, _ := testSpace(t, Limits{})
	rd := s.t.Reader() // holds the first epoch
	for i := range 3000 {
		k := numberKey(i, false)
		insertRetry(t, s, &k, Flow{Sock: 1}, 0)
		for s.t.Stats().Growing {
			s.t.Step(1000, 0)
		}
	}
	for range 3 {
		runtime.GC()
		time.Sleep(2 * time.Millisecond)
	}
	equal(t, 0, s.t.unmapped.Load())
	rd.Quiescent()
	for end := time.Now().Add(20 * time.Second); s.t.unmapped.Load() == 0; {
		if time.Now().After(end) {
			t.Fatalf("%d sizes retired, none unmapped", s.t.retired.Load())
		}
		runtime.GC()
		time.Sleep(5 * time.Millisecond)
	}
	rd.Close()
}

package flowtable

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// put inserts a flow and returns its Ref.
func put(t testing.TB, s *Space, k Key, f Flow) Ref {
	r, err := s.Insert(s.hash(&k), &k, f, 0)
	noErr(t, err, k)
	return r
}

// sock is the socket that a lookup finds, 0 for none.
func (s *Space) sock(k Key, d Dev, now int64) uint32 {
	_, n := s.LookupSock(s.hash(&k), &k, d, now)
	return n
}

func TestPorts0And65535(t *testing.T) {
	s, _ := testSpace(t, Limits{})
	n := uint32(0)
	for _, a := range [][2]Addr{{V4(1), V4(2)}, {V4(0), V4(0)}, {V4(math.MaxUint32), V4(math.MaxUint32)}, {Addr{}, Addr{}}, {Addr{1, 2}, Addr{3, 4}}} {
		for _, l := range []uint16{0, 1, 65534, 65535} {
			for _, f := range []uint16{0, 1, 65534, 65535} {
				k := Key{a[0], a[1], l, f}
				equal(t, 0, s.sock(k, Dev{}, 0))
				n++
				put(t, s, k, Flow{Sock: n})
			}
		}
	}
	s.All(func(k Key, f Flow) bool {
		equal(t, f.Sock, s.sock(k, Dev{}, 0))
		n--
		return true
	})
	equal(t, 0, n)
}

// TestMapped: a v4-mapped address is the IPv4 address; other addresses that
// share its bits are not.
func TestMapped(t *testing.T) {
	s, _ := testSpace(t, Limits{})
	v4 := Key{addr("10.0.0.1"), addr("10.0.0.2"), 1, 2}
	mappedKey := Key{addr("::ffff:10.0.0.1"), addr("::ffff:10.0.0.2"), 1, 2}
	equal(t, v4, mappedKey)
	put(t, s, mappedKey, Flow{Sock: 1})
	equal(t, 1, s.sock(v4, Dev{}, 0))
	put(t, s, Key{addr("::10.0.0.1"), addr("::10.0.0.2"), 1, 2}, Flow{Sock: 2})
	put(t, s, Key{addr("::ffff:0:10.0.0.1"), addr("::ffff:0:10.0.0.2"), 1, 2}, Flow{Sock: 3})
	put(t, s, Key{addr("::ffff:10.0.0.1"), addr("::10.0.0.2"), 1, 2}, Flow{Sock: 4}) // of both kinds
	equal(t, 1, s.sock(v4, Dev{}, 0))
	equal(t, 1, s.t.v4.count.Load())
	equal(t, 3, s.t.v6.count.Load())
}

// TestOneTupleTwoVRFs: in a shared table flows of two VRFs never match each
// other, even when a caller passes the other VRF's hash.
func TestOneTupleTwoVRFs(t *testing.T) {
	red, hs := testSpace(t, Limits{})
	blue, err := red.t.Space("blue", hs.Seed("blue"), Limits{})
	noErr(t, err)
	equal(t, true, red.t.Stats().Shared)
	for i, k := range []Key{numberKey(1, false), numberKey(1, true)} {
		r := put(t, red, k, Flow{Sock: 1})
		equal(t, 0, blue.sock(k, Dev{}, 0))
		equal(t, 0, blue.Lookup(red.hash(&k), &k, Dev{}, 0), "found by the other's hash")
		equal(t, 0, blue.Sock(r), "found by the other's Ref")
		isErr(t, blue.Delete(r, &k), ErrGone)
		put(t, blue, k, Flow{Sock: 2})
		equal(t, 1, red.sock(k, Dev{}, 0))
		equal(t, 2, blue.sock(k, Dev{}, 0))
		equal(t, i+1, red.Len())
	}
	flows, _ := blue.Remove()
	equal(t, 2, flows)
	equal(t, 1, red.sock(numberKey(1, true), Dev{}, 0))
}

// TestOneTupleTwoDevices: flows with one key bound to different devices live
// together; a packet takes the newest that accepts its device.
func TestOneTupleTwoDevices(t *testing.T) {
	for _, k := range []Key{numberKey(1, false), numberKey(1, true)} {
		s, _ := testSpace(t, Limits{})
		put(t, s, k, Flow{Sock: 1, Bdi: 10})
		put(t, s, k, Flow{Sock: 2, Bdi: 3})
		_, err := s.Insert(s.hash(&k), &k, Flow{Sock: 9, Bdi: 3}, 0)
		isErr(t, err, ErrExist)
		enslaved := Dev{Dif: 10, Sdif: 3}
		equal(t, 2, s.sock(k, enslaved, 0), "the newest")
		equal(t, 1, s.sock(k, Dev{Dif: 10, Sdif: 4}, 0))
		equal(t, 0, s.sock(k, Dev{Dif: 7}, 0))
		put(t, s, k, Flow{Sock: 3})
		equal(t, 2, s.sock(k, enslaved, 0), "unbound does not take VRF traffic")
		enslaved.Accept = true
		equal(t, 3, s.sock(k, enslaved, 0), "unless l3mdev_accept")
		equal(t, 3, s.sock(k, Dev{Dif: 7}, 0))
		noErr(t, s.Delete(s.Lookup(s.hash(&k), &k, Dev{Dif: 10, Sdif: 4}, 0), &k))
		equal(t, 2, s.sock(k, Dev{Dif: 10, Sdif: 3}, 0))
		f, ok := s.Get(s.Lookup(s.hash(&k), &k, Dev{Dif: 10, Sdif: 3}, 0))
		equal(t, true, ok)
		equal(t, 3, f.Bdi)
		isErr(t, s.Update(s.Lookup(s.hash(&k), &k, Dev{Dif: 10, Sdif: 3}, 0), &k, Flow{Sock: 1, Bdi: 4}), ErrGone)
	}
}

// TestManyDevices: more devices than any small code could number, in an order
// that moves slots around.
func TestManyDevices(t *testing.T) {
	for _, k := range []Key{numberKey(1, false), numberKey(1, true)} {
		s, _ := testSpace(t, Limits{})
		for b := range uint32(1500) {
			put(t, s, k, Flow{Sock: b + 1, Bdi: b + 1})
		}
		for b := range uint32(1500) {
			equal(t, b+1, s.sock(k, Dev{Dif: b + 1}, 0))
			r := s.Lookup(s.hash(&k), &k, Dev{Dif: b + 1}, 0)
			noErr(t, s.Delete(r, &k))
			isErr(t, s.Delete(r, &k), ErrGone)
		}
		equal(t, 0, s.Len())
	}
}

// TestDeadline: a flow is absent from the nanosecond (IPv4: eight of them) of
// its deadline on, whether it was swept or not.
func TestDeadline(t *testing.T) {
	s, _ := testSpace(t, Limits{})
	const base = 1_700_000_000_123_456_000
	for _, v6 := range []bool{false, true} {
		k := numberKey(1, v6)
		for _, d := range []int64{8, 1000, base, base + 60_000_000_000, math.MaxInt64 &^ 7} {
			r := put(t, s, k, Flow{Sock: 1, State: TimeWait, Deadline: d})
			f, _ := s.Get(r)
			equal(t, d, f.Deadline)
			equal(t, 1, s.sock(k, Dev{}, d-1))
			equal(t, 0, s.sock(k, Dev{}, d))
			equal(t, 1, s.t.Expire(d))
		}
	}
}

func TestExpiryIsBoundedAndVisible(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		s, _ := testSpace(t, Limits{})
		for i := range 5000 {
			k := numberKey(i, v6)
			_, err := s.Insert(s.hash(&k), &k, Flow{Sock: 1, State: NewSynRecv, Deadline: int64(1000 + i%2*1e9)}, 1)
			noErr(t, err)
		}
		for s.t.Stats().Growing {
			s.t.Step(100, 1)
		}
		equal(t, Work{}, s.t.Step(100, 999), "nothing is due")
		swept := 0
		for steps := 0; s.LenState(NewSynRecv) > 2500; steps++ {
			w := s.t.Step(50, 2000)
			equal(t, true, w.Swept < 50+eraseMax+slots6*2, "one step looked at", w.Swept)
			swept += w.Expired
			equal(t, true, steps < 2000)
		}
		equal(t, 2500, swept)
		for s.t.Step(5000, 2000).Swept > 0 {
		}
		st := s.t.Stats()
		equal(t, 1000, st.LagNs)
		equal(t, 2500, st.Expired)
		equal(t, Work{}, s.t.Step(100, 3000), "the rest is not due")
		equal(t, 2500, s.t.Expire(2_000_000_000))
		equal(t, 0, s.Len())
	}
}

// TestFibGenerations: what comes back is what was stored, or 0 when that was
// many generations ago; an old number never passes for a new one.
func TestFibGenerations(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		s, _ := testSpace(t, Limits{})
		old, new := numberKey(1, v6), numberKey(2, v6)
		r := put(t, s, old, Flow{Sock: 1, FibGen: 5})
		r2 := put(t, s, new, Flow{Sock: 2, FibGen: 5})
		for gen := uint32(6); gen < 4*genCodes; gen++ {
			noErr(t, s.Update(r2, &new, Flow{Sock: 2, FibGen: gen}))
			f, _ := s.Get(r2)
			equal(t, gen, f.FibGen)
			f, _ = s.Get(r)
			if f.FibGen != 5 && f.FibGen != 0 {
				t.Fatalf("generation 5 became %d at %d", f.FibGen, gen)
			}
			s.t.Step(64, 0)
		}
	}
}

func TestTimeWaitLimit(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		s, _ := testSpace(t, Limits{TimeWait: 2})
		for i := range 3 {
			k := numberKey(i, v6)
			r := put(t, s, k, Flow{Sock: 1})
			err := s.Update(r, &k, Flow{Sock: 1, State: TimeWait, Deadline: 99})
			if i < 2 {
				noErr(t, err)
				continue
			}
			isErr(t, err, ErrTimeWaitFull)
			equal(t, 0, s.sock(k, Dev{}, 0), "gone, as in Linux")
			_, err = s.Insert(s.hash(&k), &k, Flow{Sock: 1, State: TimeWait}, 0)
			isErr(t, err, ErrTimeWaitFull)
		}
		equal(t, 2, s.Len())
		equal(t, 2, s.LenState(TimeWait))
		equal(t, 2, s.t.Stats().TimeWaitFull)
	}
	equal(t, 32768, MaxTimeWait(65536))
	equal(t, 512, MaxSynBacklog(65536))
	equal(t, 128, MaxSynBacklog(64))
}

func TestConfigErrors(t *testing.T) {
	hs := NewHasher(Secret{})
	for want, c := range map[string]Config{
		"no hasher":    {Buckets: 16, Max: 16},
		"17 buckets":   {Buckets: 17, Max: 32, Hasher: hs},
		"8 buckets":    {Buckets: 8, Max: 32, Hasher: hs},
		"at most":      {Buckets: 32, Max: 16, Hasher: hs},
		"flows: more":  {Buckets: 32, Max: 32, Flows: 1 << 40, Hasher: hs},
		"0 buckets: n": {Max: 32, Hasher: hs},
	} {
		_, err := New(c)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("want %q, got %v", want, err)
		}
	}
}

// TestAllocErrorNamesBytes: whoever reads the message knows how much was
// missing and for what.
func TestAllocErrorNamesBytes(t *testing.T) {
	_, err := newRegion("red/tcp: lines", 1<<46, 1<<46, PagesAuto)
	var ae *AllocError
	equal(t, true, errors.As(err, &ae))
	equal(t, uint64(1<<47), ae.Bytes)
	equal(t, true, strings.HasPrefix(err.Error(), "red/tcp: lines: cannot allocate 140737488355328 bytes (134217728 MiB): "), err)
}

// TestRemoveIgnoresNeighbours: removing a small VRF from a table full of
// another's flows takes microseconds; only flows of its own are touched.
func TestRemoveIgnoresNeighbours(t *testing.T) {
	red, hs := testSpace(t, Limits{})
	neighbours := 60_000 / raceScale
	blue, err := red.t.Space("blue", hs.Seed("blue"), Limits{})
	noErr(t, err)
	for i := range neighbours {
		k := numberKey(i, i%2 == 0)
		insertRetry(t, red, &k, Flow{Sock: 1}, 0)
	}
	best := time.Hour
	for range 20 {
		for i := range 10 {
			k := numberKey(i, i%2 == 0)
			put(t, blue, k, Flow{Sock: 2, State: State(i % 3)})
		}
		from := time.Now()
		flows, tw := blue.Remove()
		best = min(best, time.Since(from))
		equal(t, 10, flows)
		equal(t, 3, tw)
		blue, err = red.t.Space("blue", hs.Seed("blue"), Limits{})
		noErr(t, err)
	}
	equal(t, neighbours, red.Len())
	if limit := 200 * time.Microsecond * time.Duration(raceScale); best > limit {
		t.Fatalf("removing 10 flows beside %d took %v", neighbours, best)
	}
}

package flowtable

import "testing"

// fullSpace is a space that takes three flows.
func fullSpace(t testing.TB, p Policy) *Space {
	s, _ := testSpace(t, Limits{Flows: 3, Full: p})
	return s
}

func TestFullDrop(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		s := fullSpace(t, Drop)
		for i := range 3 {
			put(t, s, numberKey(i, v6), Flow{Sock: 1, State: TimeWait})
		}
		k := numberKey(3, v6)
		_, err := s.Insert(s.hash(&k), &k, Flow{Sock: 1}, 0)
		isErr(t, err, ErrFull)
		k = numberKey(2, v6)
		_, err = s.Insert(s.hash(&k), &k, Flow{Sock: 1}, 0)
		isErr(t, err, ErrExist, "a flow that is there is not refused for lack of room")
		equal(t, 1, s.t.Stats().Full)
		equal(t, 3, s.Len())
	}
}

func TestFullPass(t *testing.T) {
	s := fullSpace(t, Pass)
	for i := range 3 {
		put(t, s, numberKey(i, false), Flow{Sock: 1})
	}
	k := numberKey(3, true)
	_, err := s.Insert(s.hash(&k), &k, Flow{Sock: 1}, 0)
	isErr(t, err, ErrPass)
	equal(t, 1, s.t.Stats().Passed)
	equal(t, 0, s.t.Stats().Full)
}

// near returns keys of one peer with consecutive ports, and so in consecutive
// buckets.
func near(v6 bool, from uint16, n int) (keys []Key) {
	for i := range n {
		k := numberKey(0, v6)
		k.Lport = from + uint16(i)
		keys = append(keys, k)
	}
	return keys
}

// TestFullEvict: expired flows go first, then the oldest NEW_SYN_RECV, then the
// oldest TIME_WAIT, ESTABLISHED never; only of the eight neighbouring buckets.
func TestFullEvict(t *testing.T) {
	const now = 100
	for _, v6 := range []bool{false, true} {
		for _, c := range []struct {
			name  string
			flows []Flow // in the buckets of the new flow and after it
			gone  int    // which of them goes, -1: none
		}{
			{"expired", []Flow{{State: NewSynRecv, Deadline: 200}, {Deadline: 96}, {State: TimeWait, Deadline: 150}}, 1},
			{"oldest NEW_SYN_RECV", []Flow{{State: NewSynRecv, Deadline: 300}, {State: NewSynRecv, Deadline: 200}, {State: TimeWait, Deadline: 150}}, 1},
			{"oldest TIME_WAIT", []Flow{{}, {State: TimeWait, Deadline: 208}, {State: TimeWait, Deadline: 152}}, 2},
			{"ESTABLISHED never", []Flow{{}, {Deadline: 200}, {}}, -1},
		} {
			s, _ := testSpace(t, Limits{Flows: 3, Full: Evict})
			keys := near(v6, 1000, 10)
			for i, f := range c.flows {
				f.Sock = 1
				put(t, s, keys[i+1], f)
			}
			_, err := s.Insert(s.hash(&keys[0]), &keys[0], Flow{Sock: 2}, now)
			if c.gone < 0 {
				isErr(t, err, ErrFull, c.name)
				equal(t, 1, s.t.Stats().Full)
				continue
			}
			noErr(t, err, c.name)
			equal(t, 1, s.t.Stats().Evicted)
			equal(t, 3, s.Len())
			equal(t, 0, s.sock(keys[c.gone+1], Dev{}, 0), c.name)
		}
	}
}

func TestEvictLooksAtEightBuckets(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		for dist := range uint16(12) {
			s, _ := testSpace(t, Limits{Flows: 1, Full: Evict})
			k := near(v6, 2000, 12)
			put(t, s, k[dist], Flow{Sock: 1, State: TimeWait, Deadline: 500})
			k2 := k[0]
			if dist == 0 {
				k2.Lport += uint16(s.t.cfg.Buckets) // another port in the same bucket
			}
			_, err := s.Insert(s.hash(&k2), &k2, Flow{Sock: 2}, 1)
			equal(t, dist < 8, err == nil, dist)
		}
	}
}

// TestEvictOwnFlowsOnly: in a shared table a VRF at its limit takes nothing
// from its neighbours.
func TestEvictOwnFlowsOnly(t *testing.T) {
	red, hs := testSpace(t, Limits{})
	blue, err := red.t.Space("blue", hs.Seed("blue"), Limits{Flows: 1, Full: Evict})
	noErr(t, err)
	for i := range 2000 {
		put(t, red, numberKey(i, i%2 == 0), Flow{Sock: 1, State: TimeWait, Deadline: 5000})
	}
	put(t, blue, numberKey(1, false), Flow{Sock: 1})
	k := numberKey(2, false)
	_, err = blue.Insert(blue.hash(&k), &k, Flow{Sock: 1}, 99)
	isErr(t, err, ErrFull)
	equal(t, 2000, red.Len())
}

// TestTableLimit: the table's own number of flows holds for all spaces
// together.
func TestTableLimit(t *testing.T) {
	hs := NewHasher(Secret{1})
	tb, err := New(Config{Name: "small", Buckets: 16, Max: 16, Flows: 10, Hasher: hs})
	noErr(t, err)
	defer tb.Close()
	var spaces [2]*Space
	for i, name := range []string{"a", "b"} {
		spaces[i], err = tb.Space(name, hs.Seed(name), Limits{})
		noErr(t, err)
	}
	for i := range 10 {
		put(t, spaces[i%2], numberKey(i, i%3 == 0), Flow{Sock: 1})
	}
	k := numberKey(11, true)
	_, err = spaces[0].Insert(spaces[0].hash(&k), &k, Flow{Sock: 1}, 0)
	isErr(t, err, ErrFull)
	spaces[1].Remove()
	_, err = spaces[0].Insert(spaces[0].hash(&k), &k, Flow{Sock: 1}, 0)
	noErr(t, err)
}

// TestFixedTable: with Max equal to Buckets chains lengthen, as in Linux, and
// everything is found and can go again.
func TestFixedTable(t *testing.T) {
	hs := NewHasher(Secret{1})
	n := 20_000 / raceScale
	tb, err := New(Config{Name: "fixed", Buckets: 64, Max: 64, Flows: uint64(2 * n), Hasher: hs})
	noErr(t, err)
	defer tb.Close()
	s, err := tb.Space("default", hs.Seed("default"), Limits{})
	noErr(t, err)
	for _, v6 := range []bool{false, true} {
		for i := range n {
			put(t, s, numberKey(i, v6), Flow{Sock: uint32(i + 1)})
		}
	}
	st := tb.Stats()
	equal(t, 64, st.Buckets)
	equal(t, false, st.Growing)
	equal(t, true, st.MaxDepth > uint32(n/100))
	for _, v6 := range []bool{false, true} {
		for i := range n {
			k := numberKey(i, v6)
			equal(t, uint32(i+1), s.sock(k, Dev{}, 0))
			noErr(t, s.Delete(s.Lookup(s.hash(&k), &k, Dev{}, 0), &k))
		}
	}
	equal(t, 0, s.Len())
	for _, sd := range []*side{&tb.v4, &tb.v6} {
		g := sd.first.Load()
		for i := range g.main {
			equal(t, 0, g.lines[i][0]&^(verMask), "an empty chain's header")
		}
	}
}

package flowtable

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// ops runs random operations on a table and its twin and compares every answer.
type ops struct {
	t      testing.TB
	rnd    func(n int) int
	hs     *Hasher
	tb     *Table
	m      *model
	spaces []*Space
	keys   []Key
	now    int64
	gen    uint32
	limits Limits
	names  int
}

// newOps makes a table with one space and nkeys keys of both families, many of
// them in few buckets.
func newOps(t testing.TB, cfg Config, lim Limits, nkeys int, rnd func(int) int) *ops {
	o := &ops{t: t, rnd: rnd, limits: lim, m: newModel(), now: 1_700_000_000_000_000_000, gen: 1}
	o.hs = NewHasher(Secret{byte(rnd(256)), 7})
	cfg.Hasher, cfg.Name = o.hs, "twin"
	var err error
	o.tb, err = New(cfg)
	noErr(t, err)
	o.space()
	for range nkeys {
		k := Key{Laddr: V4(0x0a000001 + uint32(rnd(2))), Faddr: V4(0x0a000100 + uint32(rnd(4))), Lport: uint16(rnd(nkeys)), Fport: uint16(rnd(3))}
		if rnd(2) == 0 {
			k.Laddr, k.Faddr = Addr{1 << 63, uint64(rnd(2))}, Addr{uint64(rnd(2)), uint64(rnd(8) + 2)}
		}
		o.keys = append(o.keys, k)
	}
	return o
}

func (o *ops) space() {
	o.names++
	name := fmt.Sprint("vrf", o.names)
	s, err := o.tb.Space(name, o.hs.Seed(name), o.limits)
	noErr(o.t, err)
	o.spaces = append(o.spaces, s)
	o.m.add(s, o.limits)
}

func (o *ops) flow() Flow {
	f := Flow{Sock: uint32(1 + o.rnd(20)), Bdi: uint32(o.rnd(3)), State: State(o.rnd(3)), Next: uint32(o.rnd(1 << 30)), FibGen: o.gen}
	if o.rnd(3) > 0 {
		f.Deadline = o.now + int64(o.rnd(2000)) + 1
	}
	return f
}

func (o *ops) dev() Dev {
	d := Dev{Dif: uint32(o.rnd(3)), Accept: o.rnd(2) == 0}
	if o.rnd(2) == 0 {
		d.Sdif = uint32(o.rnd(3))
	}
	return d
}

// step does one operation.
func (o *ops) step() {
	o.now += int64(o.rnd(20))
	s := o.spaces[o.rnd(len(o.spaces))]
	m := o.m.spaces[s]
	k := o.keys[o.rnd(len(o.keys))]
	h := s.hashOf(o.hs, &k)
	if o.limits.TimeWait != 0 {
		o.expire() // the limit counts what has not been swept
	}
	switch op := o.rnd(100); {
	case op < 40:
		f := o.flow()
		r, err := s.Insert(h, &k, f, o.now)
		equal(o.t, m.insert(k, f, o.now), err, "insert", k)
		if err == nil {
			g, ok := s.Get(r)
			equal(o.t, true, ok, "get", k)
			equal(o.t, round(&k, f), g)
		}
	case op < 60:
		o.look(s, m, h, k)
	case op < 70:
		o.burst(s, m)
	case op < 80:
		o.change(s, m, h, k)
	case op < 90:
		o.remove(s, m, h, k)
	case op < 96:
		o.tb.Step(1+o.rnd(50), o.now)
		o.gen += uint32(o.rnd(2))
	case op < 97:
		sock := uint32(1 + o.rnd(20))
		o.expire() // the count includes what has not been swept
		equal(o.t, m.deleteSock(sock), s.DeleteSock(sock), "DeleteSock")
	case op < 98:
		o.expire()
	case op < 99:
		o.compare(s, m)
	default:
		o.vrf(s, m)
	}
}

// expire makes table and twin forget the dead; counts agree afterwards.
func (o *ops) expire() {
	o.tb.Expire(o.now)
	for s, m := range o.m.spaces {
		m.expire(o.now)
		equal(o.t, m.len(), s.Len(), "Len")
		for st := range State(numStates) {
			equal(o.t, m.states(st), s.LenState(st), "LenState", st)
		}
	}
}

func (o *ops) look(s *Space, m *modelSpace, h uint32, k Key) {
	d := o.dev()
	want, ok := m.lookup(k, d, o.now)
	r, sock := s.LookupSock(h, &k, d, o.now)
	equal(o.t, ok, r != 0, "lookup", k, d)
	equal(o.t, want.Sock, sock)
	if ok {
		g, _ := s.Get(r)
		equal(o.t, want, g)
		equal(o.t, want.Sock, s.Sock(r))
	}
}

// burst looks many keys up at once, those of other spaces too.
func (o *ops) burst(s *Space, m *modelSpace) {
	n := o.rnd(150)
	h, k := make([]uint32, n), make([]Key, n)
	refs, socks := make([]Ref, n), make([]uint32, n)
	for i := range k {
		k[i] = o.keys[o.rnd(len(o.keys))]
		h[i] = s.hashOf(o.hs, &k[i])
	}
	d := o.dev()
	hits := s.LookupBurst(h, k, d, o.now, refs, socks)
	for i := range k {
		want, ok := m.lookup(k[i], d, o.now)
		equal(o.t, ok, refs[i] != 0, "burst", k[i], d)
		equal(o.t, want.Sock, socks[i])
		equal(o.t, s.Lookup(h[i], &k[i], d, o.now), refs[i])
		if ok {
			hits--
		}
	}
	equal(o.t, 0, hits)
}

// change updates the flow that a lookup finds; its device stays.
func (o *ops) change(s *Space, m *modelSpace, h uint32, k Key) {
	d := o.dev()
	want, ok := m.lookup(k, d, o.now)
	r := s.Lookup(h, &k, d, o.now)
	f := o.flow()
	f.Bdi = want.Bdi
	if !ok {
		isErr(o.t, s.Update(r, &k, f), ErrGone)
		return
	}
	equal(o.t, m.update(k, f), s.Update(r, &k, f), "update", k)
}

func (o *ops) remove(s *Space, m *modelSpace, h uint32, k Key) {
	d := o.dev()
	want, ok := m.lookup(k, d, o.now)
	r := s.Lookup(h, &k, d, o.now)
	if !ok {
		isErr(o.t, s.Delete(r, &k), ErrGone)
		return
	}
	noErr(o.t, s.Delete(r, &k))
	isErr(o.t, s.Delete(r, &k), ErrGone)
	_, there := s.Get(r)
	equal(o.t, false, there)
	m.drop(k, m.index(k, want.Bdi))
}

// compare checks the whole contents.
func (o *ops) compare(s *Space, m *modelSpace) {
	o.expire()
	n := 0
	s.All(func(k Key, f Flow) bool {
		n++
		i := m.index(k, f.Bdi)
		if i < 0 {
			o.t.Fatalf("All shows %v %v, which is not there", k, f)
		}
		equal(o.t, m.flows[k][i], f)
		return true
	})
	equal(o.t, m.len(), n, "All")
}

// vrf opens or removes a space.
func (o *ops) vrf(s *Space, m *modelSpace) {
	if len(o.spaces) < 4 && o.rnd(2) == 0 {
		o.space()
		return
	}
	if o.rnd(4) > 0 || len(o.spaces) == 1 {
		return
	}
	o.expire()
	flows, tw := s.Remove()
	equal(o.t, m.len(), flows, "Remove")
	equal(o.t, m.states(TimeWait), tw)
	delete(o.m.spaces, s)
	for i := range o.spaces {
		if o.spaces[i] == s {
			o.spaces = append(o.spaces[:i], o.spaces[i+1:]...)
			break
		}
	}
	_, err := s.Insert(0, &o.keys[0], Flow{Sock: 1}, o.now)
	isErr(o.t, err, ErrRemoved)
}

// finish compares everything and closes the table.
func (o *ops) finish() {
	for s, m := range o.m.spaces {
		o.compare(s, m)
	}
	o.tb.Close()
}

// seed returns a fresh seed and prints it.
func seed(t testing.TB) *rand.Rand {
	s := uint64(time.Now().UnixNano())
	t.Logf("seed %d", s)
	return rand.New(rand.NewPCG(s, 1))
}

func TestTwin(t *testing.T) {
	for name, cfg := range map[string]Config{
		"fixed":      {Buckets: 16, Max: 16, Flows: 10000},
		"growing":    {Buckets: 16, Max: 4096, Flows: 100000, Inline: true},
		"background": {Buckets: 16, Max: 4096, Flows: 100000},
		"shared":     {Buckets: 16, Max: 1024, Flows: 10000, Shared: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := seed(t)
			for range max(1, 6/raceScale) {
				lim := Limits{TimeWait: uint64(r.IntN(2) * 5)}
				o := newOps(t, cfg, lim, []int{8, 50, 300, 2000}[r.IntN(4)], r.IntN)
				for range 5000 {
					o.step()
				}
				o.finish()
			}
		})
	}
}

package flowtable

import (
	"reflect"
	"testing"
)

// TestNoAllocations: no operation of the packet path touches the Go heap.
func TestNoAllocations(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		s, hs := testSpace(t, Limits{Flows: 5000, Full: Evict})
		for i := range 3000 {
			put(t, s, numberKey(i, v6), Flow{Sock: 1, Bdi: uint32(i % 2)})
		}
		for s.t.Stats().Growing {
			s.t.Step(1000, 0)
		}
		rd := s.t.Reader()
		defer rd.Close()
		k, absent := numberKey(2, v6), numberKey(4000, v6)
		h, ha := s.hash(&k), s.hash(&absent)
		p := NewPorts(Secret{})
		c := peers()[0]
		var hash [64]uint32
		var keys [64]Key
		var refs [64]Ref
		var socks [64]uint32
		for i := range keys {
			keys[i] = numberKey(i*50, v6)
			hash[i] = s.hash(&keys[i])
		}
		for name, f := range map[string]func(){
			"hash":   func() { _ = hs.Sum(s.seed, k.Laddr, k.Faddr, k.Fport).Hash(k.Lport) },
			"hit":    func() { s.Lookup(h, &k, Dev{}, 0) },
			"miss":   func() { s.Lookup(ha, &absent, Dev{}, 0) },
			"burst":  func() { s.LookupBurst(hash[:], keys[:], Dev{}, 0, refs[:], socks[:]) },
			"get":    func() { s.Get(s.Lookup(h, &k, Dev{}, 0)) },
			"sock":   func() { s.Sock(s.Lookup(h, &k, Dev{}, 0)) },
			"update": func() { noErr(t, s.Update(s.Lookup(h, &k, Dev{}, 0), &k, Flow{Sock: 1, Next: 7, Deadline: 99})) },
			"insert and delete": func() {
				r, err := s.Insert(ha, &absent, Flow{Sock: 1}, 0)
				noErr(t, err)
				noErr(t, s.Delete(r, &absent))
			},
			"prefetch":  func() { s.Prefetch(h, v6) },
			"step":      func() { s.t.Step(100, 50) },
			"quiescent": rd.Quiescent,
			"connect": func() {
				out, err := s.Connect(p, &c, 0)
				noErr(t, err)
				k := c.at(out.Port)
				noErr(t, s.Delete(out.Ref, &k))
			},
		} {
			if n := testing.AllocsPerRun(200, f); n != 0 {
				t.Errorf("v6=%v %s: %v allocations", v6, name, n)
			}
		}
	}
}

// TestNoPointers: what lies in table memory holds no pointers, so the
// collector need not know it.
func TestNoPointers(t *testing.T) {
	for _, typ := range []reflect.Type{reflect.TypeFor[line](), reflect.TypeFor[cold4]()} {
		if k := typ.Elem().Kind(); typ.Kind() != reflect.Array || k != reflect.Uint64 {
			t.Errorf("%v holds %v", typ, k)
		}
	}
	equal(t, 64, reflect.TypeFor[line]().Size())
	equal(t, 40, reflect.TypeFor[cold4]().Size())
}

// TestLineAlignment: a line is a cache line.
func TestLineAlignment(t *testing.T) {
	s, _ := testSpace(t, Limits{})
	put(t, s, numberKey(0, true), Flow{Sock: 1})
	for _, l := range [][]line{s.t.v4.first.Load().lines, s.t.v6.first.Load().lines, s.t.v6.recs} {
		equal(t, uintptr(0), reflect.ValueOf(l).Pointer()%64)
	}
}

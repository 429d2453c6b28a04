package flowtable

import (
	"net/netip"
	"testing"
)

// testSpace returns a space of a small table of its own and its hasher.
func testSpace(t testing.TB, lim Limits) (*Space, *Hasher) {
	h := NewHasher(Secret{1})
	tb, err := New(Config{Name: "test", Buckets: 64, Max: 1 << 16, Hasher: h})
	noErr(t, err)
	t.Cleanup(tb.Close)
	s, err := tb.Space("default", h.Seed("default"), lim)
	noErr(t, err)
	return s, h
}

func addr(s string) Addr { return AddrFrom(netip.MustParseAddr(s)) }

func (s *Space) hashOf(h *Hasher, k *Key) uint32 {
	return h.Sum(s.seed, k.Laddr, k.Faddr, k.Fport).Hash(k.Lport)
}

func TestInsertLookupDelete(t *testing.T) {
	s, hs := testSpace(t, Limits{})
	for _, k := range []Key{
		{addr("10.0.0.1"), addr("10.0.0.2"), 80, 4000},
		{addr("2001:db8::1"), addr("2001:db8::2"), 80, 4000},
	} {
		h := s.hashOf(hs, &k)
		equal(t, 0, s.Lookup(h, &k, Dev{}, 0))
		f := Flow{Sock: 7, State: NewSynRecv, Deadline: 1 << 40, Next: 99, FibGen: 3}
		r, err := s.Insert(h, &k, f, 1)
		noErr(t, err)
		equal(t, r, s.Lookup(h, &k, Dev{}, 1))
		g, ok := s.Get(r)
		equal(t, true, ok)
		equal(t, f, g)
		_, err = s.Insert(h, &k, f, 1)
		isErr(t, err, ErrExist)
		equal(t, 0, s.Lookup(h, &k, Dev{}, 1<<40))
		f.State, f.Deadline = Established, 0
		noErr(t, s.Update(r, &k, f))
		equal(t, r, s.Lookup(h, &k, Dev{}, 1<<40))
		noErr(t, s.Delete(r, &k))
		isErr(t, s.Delete(r, &k), ErrGone)
		equal(t, 0, s.Len())
	}
}

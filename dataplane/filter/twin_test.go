package filter

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"edemux/flowtable"
)

// pred is an expression's meaning written down without this package's code.
type pred func(*Subject) bool

// generate makes a random expression and its meaning.
func generate(r *rand.Rand, depth int) (string, pred) {
	if depth > 0 && r.IntN(4) > 0 {
		a, pa := generate(r, depth-1)
		b, pb := generate(r, depth-1)
		switch r.IntN(3) {
		case 0:
			return "(" + a + ") and (" + b + ")", func(s *Subject) bool { return pa(s) && pb(s) }
		case 1:
			return "(" + a + ") || (" + b + ")", func(s *Subject) bool { return pa(s) || pb(s) }
		}
		return "not (" + a + ")", func(s *Subject) bool { return !pa(s) }
	}
	return generateTest(r)
}

var sides = []string{"", "src ", "dst "}

func bySide(side int, s, d bool) bool {
	return side != 2 && s || side != 1 && d
}

func generateTest(r *rand.Rand) (string, pred) {
	side := r.IntN(3)
	switch r.IntN(8) {
	case 0:
		pf := randPrefix(r)
		return sides[side] + "net " + pf.String(), func(s *Subject) bool {
			return s.IPVer != 0 && bySide(side, pf.Contains(s.Saddr.Netip()), pf.Contains(s.Daddr.Netip()))
		}
	case 1:
		a := randPrefix(r).Addr()
		return sides[side] + "host " + a.String(), func(s *Subject) bool {
			return s.IPVer != 0 && bySide(side, s.Saddr.Netip() == a, s.Daddr.Netip() == a)
		}
	case 2:
		lo := r.IntN(8)
		hi := lo + r.IntN(3)
		return fmt.Sprintf("%sport %d-%d", sides[side], lo, hi), func(s *Subject) bool {
			in := func(p uint16) bool { return int(p) >= lo && int(p) <= hi }
			return s.HasPorts && bySide(side, in(s.Sport), in(s.Dport))
		}
	case 3:
		n := r.IntN(3)
		return fmt.Sprintf("proto %d", n), func(s *Subject) bool { return s.HasProto && int(s.Proto) == n }
	case 4:
		v := 4 + 2*r.IntN(2)
		return map[int]string{4: "ip", 6: "ip6"}[v], func(s *Subject) bool { return int(s.IPVer) == v }
	case 5:
		tags := make([]string, 1+r.IntN(4))
		for i := range tags {
			tags[i] = fmt.Sprint(r.IntN(2))
		}
		want := strings.Join(tags, ".") + "."
		return "vlan " + strings.TrimSuffix(want, "."), func(s *Subject) bool {
			have := ""
			for i := range s.NVLAN {
				have += fmt.Sprint(s.VLANs>>(16*i)&0xffff) + "."
			}
			return strings.HasPrefix(have, want)
		}
	case 6:
		n := string(rune('a' + r.IntN(3)))
		return "vrf " + n, func(s *Subject) bool { return s.VRF == n }
	}
	n := string(rune('a' + r.IntN(3)))
	return "socket " + n, func(s *Subject) bool { return strings.Split(s.Socket+"/", "/")[0] == n }
}

func randPrefix(r *rand.Rand) netip.Prefix {
	if r.IntN(2) == 0 {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(r.IntN(4))}), 24+r.IntN(9)).Masked()
	}
	return netip.PrefixFrom(netip.AddrFrom16([16]byte{0: 0x20, 7: byte(r.IntN(4)), 15: byte(r.IntN(4))}), 56+r.IntN(73)).Masked()
}

func randSubject(r *rand.Rand) *Subject {
	s := &Subject{
		IPVer: 4, Saddr: flowtable.V4(0x0a000000 | r.Uint32N(4)), Daddr: flowtable.V4(0x0a000000 | r.Uint32N(4)),
		Sport: uint16(r.IntN(10)), Dport: uint16(r.IntN(10)), Proto: uint8(r.IntN(3)),
		HasPorts: r.IntN(3) > 0, HasProto: r.IntN(4) > 0, NVLAN: uint8(r.IntN(5)),
		VRF: string(rune('a' + r.IntN(3))), Socket: []string{"a", "b/0", "b/1", "c/10", ""}[r.IntN(5)],
	}
	for i := range s.NVLAN {
		s.VLANs |= uint64(r.IntN(2)) << (16 * i)
	}
	if r.IntN(2) == 0 {
		s.IPVer = 6
		s.Saddr = flowtable.Addr{Hi: 0x20<<56 | r.Uint64N(4), Lo: r.Uint64N(4)}
		s.Daddr = flowtable.Addr{Hi: 0x20<<56 | r.Uint64N(4), Lo: r.Uint64N(4)}
	}
	if r.IntN(8) == 0 {
		*s = Subject{NVLAN: s.NVLAN, VLANs: s.VLANs, VRF: s.VRF}
	}
	return s
}

func TestTwin(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	matched := 0
	for range 3000 {
		expr, want := generate(r, 5)
		f, err := Compile(expr, DecisionFields)
		require.NoError(t, err, expr)
		for range 20 {
			s := randSubject(r)
			require.Equal(t, want(s), f.Match(s), "seed %d: %s on %+v", seed, expr, s)
			if f.Match(s) {
				matched++
			}
		}
	}
	require.Greater(t, matched, 3000, "the comparison must see both answers")
}

// eval is the tree walked without compiling.
func eval(n *node, s *Subject) bool {
	switch n.op {
	case opAnd:
		return eval(n.a, s) && eval(n.b, s)
	case opOr:
		return eval(n.a, s) || eval(n.b, s)
	case opNot:
		return !eval(n.a, s)
	}
	return n.test.holds(s)
}

func FuzzFilter(f *testing.F) {
	for _, s := range []string{
		"udp and port 53", "not (src net 10.0.0.0/8 or vlan 100.10) && vrf red", "port 53 or 5353-5400 and host ::1",
		"((", "! ! tcp", "verdict drop and reason NO_SOCKET", "vlan 1.2.3.4.5", "ip6 proto 58", "\xff\xfe and \x00", "port 1-",
	} {
		f.Add(s)
	}
	r := rand.New(rand.NewPCG(1, 2))
	var some []*Subject
	for range 8 {
		some = append(some, randSubject(r))
	}
	f.Fuzz(func(t *testing.T, expr string) {
		c, err := Compile(expr, DecisionFields)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Pos < 0 || e.Pos+e.Len > len(expr) || strings.Contains(e.Caret()[len(expr):], "\n\n") {
				t.Fatalf("bad error %#v", err)
			}
			_ = err.Error()
			return
		}
		tree, _ := parse(expr, DecisionFields)
		for _, s := range some {
			if tree != nil && eval(tree, s) != c.Match(s) {
				t.Fatalf("%q: compiled and walked differ on %+v", expr, s)
			}
		}
	})
}

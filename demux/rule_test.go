package demux

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"syscall"
	"testing"

	"edemux/demux/cbpf"
	"edemux/flowtable"

	"github.com/stretchr/testify/require"
)

// TestSkLookup follows prog_tests/sk_lookup.c where it concerns the choice.
func TestSkLookup(t *testing.T) {
	b := newTestBuilder()
	for _, s := range []string{
		"srv tcp 127.0.0.1:7007", "a tcp 127.0.0.2:7008", "six tcp [::1]:7009", "mapped tcp [::ffff:127.0.0.2]:7010",
		"u udp 127.0.0.1:7007", "ua udp 127.0.0.2:7008", "uc udp 127.0.0.3:7008 connect=127.0.0.9:9",
		"g0 udp 127.0.0.2:7011 reuseport", "g1 udp 127.0.0.2:7011 reuseport", "gc udp 127.0.0.2:7011 reuseport connect=127.0.0.9:1",
	} {
		mustAdd(t, b, s)
	}
	require.NoError(t, b.Attach(b.Lookup("g0"), asm(t, "ret #1")))
	look := func(dst, proto string, rules ...Rule) string {
		require.NoError(t, b.SetRules(rules))
		v := b.Publish()
		q := tcpq(b, "10.0.0.5:5", dst)
		if q.V6 {
			q.Saddr = addr("2001:db8::5")
		}
		q.Prog = &cbpf.Input{}
		r := Result{}
		if proto == "tcp" {
			r = v.TCPListener(q)
		} else {
			q.Proto = UDP
			r = v.UDPLookup(q)
		}
		return r.Path.String() + " " + v.Name(r.Sock)
	}
	rule := func(name string, low, top uint16, dst string) Rule {
		r := Rule{Proto: b.socks.at(b.Lookup(name)).Proto(), AnyVRF: true, Low: low, Top: top, Socket: b.Lookup(name)}
		if dst != "" {
			r.Dst = netip.MustParsePrefix(dst)
		}
		return r
	}
	require.Equal(t, "listener srv", look("127.0.0.1:7007", "tcp"))
	require.Equal(t, "rule a", look("127.0.0.1:7007", "tcp", rule("a", 7007, 7007, "")), "before listeners")
	require.Equal(t, "rule a", look("127.0.0.1:9999", "tcp", rule("a", 7007, 9999, "127.0.0.1/32")))
	require.Equal(t, "- -", look("127.0.0.9:9999", "tcp", rule("a", 7007, 9999, "127.0.0.1/32")))
	require.Equal(t, "rule mapped", look("127.0.0.1:7007", "tcp", rule("mapped", 7007, 7007, "")), "IPv4 to a mapped listener")
	require.Equal(t, "listener srv", look("127.0.0.1:7007", "tcp", rule("six", 7007, 7007, "")), "v6only takes no IPv4: the normal lookup")
	require.Equal(t, "- -", look("[::5]:7007", "tcp", rule("a", 7007, 7007, "")), "AF_INET takes no IPv6")
	require.Equal(t, "rule six", look("[::5]:7007", "tcp", rule("six", 7007, 7007, "")))
	require.Equal(t, "rule ua", look("127.0.0.1:7007", "udp", rule("ua", 7007, 7007, "")), "overrides an unconnected exact match")
	require.Equal(t, "rule g1", look("127.0.0.1:7007", "udp", rule("g0", 7007, 7007, "")), "the group's program chooses, has_conns or not")
	require.Equal(t, "rule srv", look("127.0.0.1:7007", "tcp", rule("srv", 7007, 7007, ""), rule("a", 7007, 7007, "")), "the first wins")

	checkRuleErrors(t, b, rule)

	// The connected exact match comes before rules.
	require.NoError(t, b.SetRules([]Rule{rule("ua", 7008, 7008, "")}))
	q := udpq(b, "127.0.0.9:9", "127.0.0.3:7008")
	require.Equal(t, b.Lookup("uc"), b.Publish().UDPLookup(q).Sock)
}

func checkRuleErrors(t *testing.T, b *Builder, rule func(string, uint16, uint16, string) Rule) {
	for _, c := range []struct {
		r    Rule
		want string
	}{
		{rule("uc", 1, 2, ""), "rule 1: socket uc: assign: socket type not supported (connected)"},
		{Rule{Proto: TCP, Low: 1, Top: 2, Socket: b.Lookup("u")}, "different protocols"},
		{Rule{Proto: TCP, Low: 1, Top: 2, Socket: 999}, "no socket 999"},
		{rule("six", 1, 2, "10.0.0.0/8"), "of another family than 10.0.0.0/8"},
		{rule("srv", 1, 2, "2001:db8::/32"), "of another family"},
		{rule("srv", 2, 1, ""), "ports 2-1"},
		{Rule{Proto: TCP, VRF: 9, Low: 1, Top: 2, Socket: b.Lookup("srv")}, "no VRF with index 9"},
	} {
		require.ErrorContains(t, b.SetRules([]Rule{c.r}), c.want)
	}
	mustAdd(t, b, "idle tcp 127.0.0.8:1 nolisten")
	require.ErrorIs(t, b.SetRules([]Rule{rule("idle", 1, 2, "")}), syscall.ESOCKTNOSUPPORT)
}

// TestRuleFollowsItsGroup: a rule for a group goes on with another member when
// its socket closes, a rule for a socket does not.
func TestRuleFollowsItsGroup(t *testing.T) {
	b := newTestBuilder()
	for i := range 3 {
		mustAdd(t, b, fmt.Sprintf("web/%d tcp 10.0.0.1:443 reuseport", i))
	}
	r := Rule{Proto: TCP, AnyVRF: true, Low: 80, Top: 80, Socket: 1, Group: true}
	r2 := r
	r2.Group, r2.Low, r2.Top = false, 81, 81
	require.NoError(t, b.SetRules([]Rule{r, r2}))
	v := b.Publish()
	require.Equal(t, PathRule, v.TCPListener(tcpq(b, "10.0.0.9:1", "10.0.0.7:80")).Path)
	require.Equal(t, PathRule, v.TCPListener(tcpq(b, "10.0.0.9:1", "10.0.0.7:81")).Path)
	for _, id := range []SockID{1, 3} {
		b.Close(id)
		v = b.Publish()
		require.Equal(t, PathRule, v.TCPListener(tcpq(b, "10.0.0.9:1", "10.0.0.7:80")).Path)
		require.Zero(t, v.TCPListener(tcpq(b, "10.0.0.9:1", "10.0.0.7:81")).Sock)
	}
	require.Equal(t, SockID(2), b.Rules()[0].Socket)
	b.Close(2)
	require.Zero(t, b.Publish().TCPListener(tcpq(b, "10.0.0.9:1", "10.0.0.7:80")).Sock)
	require.NoError(t, b.SetRules(nil))
	require.Nil(t, b.Publish().rules)
}

// randomRules makes rules of all shapes over sockets 1 to n.
func randomRules(r *rand.Rand, n, socks int) []Rule {
	prefix := func() netip.Prefix {
		switch r.IntN(5) {
		case 0:
			return netip.Prefix{}
		case 1:
			a := netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, byte(r.IntN(4)), byte(r.IntN(4)), 15: byte(r.IntN(4))})
			return netip.PrefixFrom(a, 32+r.IntN(97)).Masked()
		}
		a := netip.AddrFrom4([4]byte{10, byte(r.IntN(4)), byte(r.IntN(4)), byte(r.IntN(8))})
		return netip.PrefixFrom(a, r.IntN(33)).Masked()
	}
	rules := make([]Rule, n)
	for i := range rules {
		u := &rules[i]
		*u = Rule{Proto: TCP, AnyVRF: r.IntN(2) == 0, VRF: uint16(r.IntN(3)), Dst: prefix(), Socket: SockID(1 + r.IntN(socks))}
		if r.IntN(2) == 0 {
			u.Proto = UDP
		}
		if r.IntN(3) == 0 {
			u.Src = prefix()
		}
		u.Low = uint16(r.IntN(64))
		u.Top = u.Low + uint16(r.IntN(8))
		if r.IntN(10) == 0 {
			u.Low, u.Top = 0, 65535
		}
	}
	return rules
}

// TestRulesTwin compares the compiled rules with a scan.
func TestRulesTwin(t *testing.T) {
	for _, n := range []int{1, 3, 10, 100, 3000} {
		for seed := range uint64(12) {
			t.Logf("rules %d seed %d", n, seed)
			r := rand.New(rand.NewPCG(seed, uint64(n)))
			rules := randomRules(r, n, 1000)
			set := compileRules(rules)
			for range 500 {
				q := &Query{Proto: []uint8{TCP, UDP}[r.IntN(2)], VRF: uint16(r.IntN(4)), Dport: uint16(r.IntN(74)), Sport: 7}
				q.Saddr = flowtable.V4(0x0a000000 | r.Uint32N(4)<<16 | r.Uint32N(4)<<8 | r.Uint32N(8))
				q.Daddr = flowtable.V4(0x0a000000 | r.Uint32N(4)<<16 | r.Uint32N(4)<<8 | r.Uint32N(8))
				if r.IntN(4) == 0 {
					q.V6 = true
					q.Saddr = flowtable.Addr{Hi: 0x20010db8<<32 | r.Uint64N(4)<<24 | r.Uint64N(4)<<16, Lo: r.Uint64N(4)}
					q.Daddr = flowtable.Addr{Hi: 0x20010db8<<32 | r.Uint64N(4)<<24 | r.Uint64N(4)<<16, Lo: r.Uint64N(4)}
				}
				if r.IntN(20) == 0 {
					q.Dport = uint16(r.Uint32())
				}
				want := SockID(0)
				for i := range rules {
					if rules[i].Matches(q) {
						want = rules[i].Socket
						break
					}
				}
				require.Equal(t, want, set.match(q), "%+v", q)
			}
		}
	}
}

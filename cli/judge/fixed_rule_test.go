package judge

import (
	"net/netip"
	"testing"

	"edemux/demux"
)

func rule(proto uint8, dst string, low, high uint16, socket string) Rule {
	r := Rule{Proto: proto, Low: low, High: high, Socket: socket}
	if dst != "" {
		r.Dst = netip.MustParsePrefix(dst)
	}
	return r
}

// TestFixedRules is the kernel's selftest sk_lookup where it concerns rules.
func TestFixedRules(t *testing.T) {
	needRoot(t)
	const src, src6 = "10.0.0.9:1000", "[2001:db8::9]:1000"
	rules := func(all ...Rule) Step { return Step{Rules: all} }
	s := fixed("redirect").open(udp("u", "10.0.0.2:7"), udp("u6", "[2001:db8::2]:7"), tcp("t", "10.0.0.2:7"), tcp("t6", "[2001:db8::2]:7"), udp("on", "10.0.0.1:53")).
		do(rules(rule(17, "10.0.0.1/32", 53, 60, "u"), rule(17, "2001:db8::/64", 53, 53, "u6"), rule(6, "10.0.0.0/24", 80, 90, "t"), rule(6, "2001:db8::1/128", 80, 80, "t6")))
	s.udp(src, "10.0.0.1:53").udp(src, "10.0.0.1:60").udp(src, "10.0.0.1:61").udp(src, "10.0.0.2:53").udp(src6, "[2001:db8::1]:53").
		udp(src6, "[2001:db8:1::1]:53").shake("10.0.0.9:5", "10.0.0.1:90").shake("[2001:db8::9]:5", "[2001:db8::1]:80").shake("[2001:db8::9]:6", "[2001:db8::2]:80").
		shake("10.0.0.9:6", "10.0.0.1:91")
	s.do(Step{Close: "u"}, Step{Close: "t"}).udp(src, "10.0.0.1:53").shake("10.0.0.9:7", "10.0.0.1:90").run(t)
	fixed("after a connected socket, before an exact one").open(udp("u", "10.0.0.2:7"), udp("c", "10.0.0.1:53").with(reuseaddr).with(connected(src)), udp("x", "10.0.0.1:53").with(reuseaddr)).
		do(rules(rule(17, "", 0, 65535, "u"))).udp(src, "10.0.0.1:53").udp("10.0.0.9:1", "10.0.0.1:53").run(t)
	fixed("first match wins").open(udp("a", "10.0.0.2:7"), udp("b", "10.0.0.2:8")).
		do(rules(rule(17, "", 53, 53, "a"), rule(17, "", 50, 60, "b"))).udp(src, "10.0.0.1:53").udp(src, "10.0.0.1:54").
		do(Step{Close: "a"}).udp(src, "10.0.0.1:53").run(t)
	g := fixed("a group chooses").open(members(3, demux.UDP, "m", "10.0.0.2:7")...).do(Step{Attach: &Attach{"m0", "ld [0]; ret a"}}).
		do(rules(rule(17, "", 53, 53, "m1")))
	for d := range uint32(5) {
		g.udp(src, "10.0.0.1:53", d)
	}
	g.do(Step{Connect: &Connect{Socket: "m2", To: ap("10.0.0.9:77")}}).udp(src, "10.0.0.1:53", 1).run(t)
	fixed("families").open(udp("four", "10.0.0.2:7"), udp("six", "[2001:db8::2]:7"), udp("both", "[::]:8"), udp("only", "[::]:9").with(v6only), udp("mapped", "[::ffff:10.0.0.2]:10")).
		do(rules(rule(17, "", 51, 51, "four"), rule(17, "", 52, 52, "six"), rule(17, "", 53, 53, "both"), rule(17, "", 54, 54, "only"), rule(17, "", 55, 55, "mapped"))).
		udp(src, "10.0.0.1:51").udp(src6, "[2001:db8::1]:51").udp(src, "10.0.0.1:52").udp(src6, "[2001:db8::1]:52").udp(src, "10.0.0.1:53").
		udp(src6, "[2001:db8::1]:53").udp(src, "10.0.0.1:54").udp(src6, "[2001:db8::1]:54").udp(src, "10.0.0.1:55").udp(src6, "[2001:db8::1]:55").run(t)
	fixed("a device does not matter").open(udp("d", "10.0.0.2:7").with(onDev("eth1"))).do(rules(rule(17, "", 53, 53, "d"))).
		udp(src, "10.0.0.1:53").udpOn(1, 0, src, "10.0.0.1:53").run(t)
}

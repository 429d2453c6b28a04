package filter

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"edemux/dataplane/packet"
	"edemux/flowtable"
)

func udp4() *Subject {
	return &Subject{
		IPVer: 4, Saddr: flowtable.V4(0x0a000001), Daddr: flowtable.V4(0x0a000109), Sport: 40000, Dport: 53,
		HasPorts: true, HasProto: true, Proto: 17, VRF: "red", NVLAN: 2, VLANs: 10<<16 | 100,
		Verdict: "deliver", Path: "early", Socket: "dns/1", Worker: "dns/1",
	}
}

func tcp6() *Subject {
	return &Subject{
		IPVer: 6, Saddr: flowtable.Addr{Hi: 0x20010db8 << 32, Lo: 1}, Daddr: flowtable.Addr{Hi: 0x20010db8 << 32, Lo: 2},
		Sport: 443, Dport: 50000, HasPorts: true, HasProto: true, Proto: 6, VRF: "default",
		Verdict: "drop", Reason: "NO_SOCKET",
	}
}

func subjects() map[string]*Subject {
	frag := udp4()
	frag.HasPorts, frag.Fragment = false, true
	return map[string]*Subject{
		"u": udp4(), "t": tcp6(), "f": frag,
		"a": {NVLAN: 1, VLANs: 100, Verdict: "punt", Reason: "ARP"}, // not IP
		"-": {},
	}
}

// Each expression with the subjects it matches.
func TestMatch(t *testing.T) {
	for expr, want := range map[string]string{
		"": "-aftu", "udp": "fu", "tcp": "t", "UDP": "fu", "icmp": "", "not udp": "-at", "! udp": "-at", "!udp": "-at",
		"ip": "fu", "ip6": "t", "not ip and not ip6": "-a",
		"proto 17": "fu", "proto udp": "fu", "proto gre": "", "ip proto 17": "fu", "ip6 proto 17": "", "proto 17 or 6": "ftu",
		"host 10.0.0.1": "fu", "src host 10.0.0.1": "fu", "dst host 10.0.0.1": "", "src 10.0.0.1": "fu", "dst 10.0.0.0/8": "fu",
		"net 10.0.1.0/24": "fu", "src net 10.0.1.0/24": "", "net 0.0.0.0/0": "fu", "net ::/0": "t", "not net 0.0.0.0/0": "-at",
		"net 10.0.0.9": "", "host 2001:db8::2": "t", "net 2001:db8::/32": "t", "dst host 2001:0db8:0::2": "t", "net 2001:db8::2/128": "t",
		"ip host 10.0.0.1": "fu", "ip6 host 10.0.0.1": "", "net 2001:db8::/64 or 10.0.1.8/29": "ftu",
		"port 53": "u", "src port 53": "", "dst port 53": "u", "port 443": "t", "port 0": "", "not port 53": "-aft",
		"port 40000-50000": "tu", "portrange 50000-50001": "t", "src portrange 400-500": "t", "port 53 or 443": "tu",
		"udp port 53": "u", "tcp port 53": "", "tcp port 53 or 443": "t", "udp dst port 53": "u", "udp src port 53": "",
		"vlan": "afu", "vlan 100": "afu", "vlan 100.10": "fu", "vlan 10": "", "vlan 100.10.1": "", "not vlan": "-t", "vlan and udp": "fu",
		"vrf red": "fu", "vrf default": "t", "vrf re": "", "not vrf red": "-at", "vrf and": "", "vrf not or tcp": "t",
		"verdict deliver": "fu", "verdict drop": "t", "reason NO_SOCKET": "t", "reason no_socket": "t", "reason arp": "a",
		"path early": "fu", "socket dns/1": "fu", "socket dns": "fu", "socket dn": "", "worker dns": "fu", "worker dns/2": "",
		"frag": "f", "not frag": "-atu",
		"udp and port 53": "u", "udp && port 53": "u", "udp&&port 53||tcp": "tu", "udp or tcp": "ftu",
		// one precedence, from the left: (tcp or udp) and port 53
		"tcp or udp and port 53": "u", "tcp or (udp and port 53)": "tu", "(tcp or udp) and not (port 53)": "ft",
		"not not udp": "fu", "not (udp or tcp)": "-a", "((udp))": "fu", "!(!(udp))": "fu",
		" \tudp\n": "fu",
	} {
		f, err := Compile(expr, DecisionFields)
		require.NoError(t, err, expr)
		for name, s := range subjects() {
			require.Equal(t, strings.Contains(want, name), f.Match(s), "%q on %s", expr, name)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ expr, at, msg string }{
		{"udp and prot 17", "prot", "did you mean `proto`"},
		{"udp and", "", "ends here"},
		{"udp port", "", "want a port"},
		{"port 70000", "70000", "0 to 65535"},
		{"port http", "http", "0 to 65535"},
		{"port -1", "-1", "want a number"},
		{"port +1", "+1", "want a number"},
		{"port 9-8", "9-8", "below the first"},
		{"port 53 or 99999", "99999", "0 to 65535"},
		{"port 53 or udpp", "udpp", "did you mean `udp`"},
		{"host 10.0.0.0/8", "10.0.0.0/8", "write `net 10.0.0.0/8`"},
		{"host example.org", "example.org", "not an address"},
		{"host", "", "want an address"},
		{"net 10.0.0.1/8", "10.0.0.1/8", "write 10.0.0.0/8"},
		{"net 10.0.0.0/33", "10.0.0.0/33", "not an address"},
		{"host fe80::1%eth0", "fe80::1%eth0", "no zone"},
		{"src proto 17", "src", "no direction"},
		{"proto 256", "256", "0 to 255"},
		{"proto udpp", "udpp", "did you mean `udp`"},
		{"53", "53", "write `port 53`"},
		{"10.0.0.1", "10.0.0.1", "write `host 10.0.0.1`"},
		{"10.0.0.0/8", "10.0.0.0/8", "write `net 10.0.0.0/8`"},
		{"(udp", "", "for the `(` in column 1"},
		{"udp)", ")", "without `(`"},
		{"udp tcp", "tcp", "`and` or `or`"},
		{"()", ")", "unknown word"},
		{"vlan 4096", "4096", "0 to 4095"},
		{"vlan 1..2", "1..2", "want tags"},
		{"vlan 1.2.3.4.5", "1.2.3.4.5", "at most four"},
		{"verdict dropped", "dropped", "want one of deliver, drop"},
		{"reason NO_SOCKT", "NO_SOCKT", "did you mean NO_SOCKET"},
		{"reason because", "because", "no drop or punt has it"},
		{"path fast", "fast", "want one of early"},
		{"vrf", "", "want a name"},
		{"vrf )", ")", "want a name"},
		{"ütf and hst 1", "ütf", "unknown word"}, // the first mistake is reported
		{strings.Repeat("(", 300) + "udp", "(", "nested"},
		{strings.Repeat("not ", 300) + "udp", "not", "nested"},
		{strings.Repeat("x", maxLen+1), "", "over 65536"},
	} {
		_, err := Compile(c.expr, DecisionFields)
		var e *Error
		require.True(t, errors.As(err, &e), "%q: %v", c.expr, err)
		require.Equal(t, c.at, e.Expr[e.Pos:e.Pos+e.Len], "%q: %v", c.expr, err)
		require.Contains(t, e.Msg, c.msg, c.expr)
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestCaret(t *testing.T) {
	_, err := Compile("vrf ü\tor prot 17", DecisionFields)
	var e *Error
	require.True(t, errors.As(err, &e))
	require.Equal(t, "column 10: unknown word \"prot\": did you mean `proto`?", e.Error())
	require.Equal(t, "vrf ü.or prot 17\n         ^^^^", e.Caret())
	_, err = Compile("udp and", DecisionFields)
	require.True(t, errors.As(err, &e))
	require.Equal(t, "udp and\n       ^", e.Caret())
}

// What a caller cannot know is refused instead of never matching.
func TestKnownFields(t *testing.T) {
	for _, expr := range []string{"verdict drop", "udp and path early", "socket a", "worker a", "reason ARP"} {
		_, err := Compile(expr, FrameFields)
		require.ErrorContains(t, err, "not known here", expr)
		_, err = Compile(expr, DecisionFields)
		require.NoError(t, err)
	}
	_, err := Compile("vlan 100", FlowFields)
	require.ErrorContains(t, err, "not known here")
	f, err := Compile("udp port 53 and vrf red", FrameFields)
	require.NoError(t, err)
	require.Equal(t, FieldProto|FieldPort|FieldVRF, f.Fields())
	require.Equal(t, "udp port 53 and vrf red", f.String())
}

func TestNil(t *testing.T) {
	var f *Filter
	require.True(t, f.Match(&Subject{}))
	require.Zero(t, f.Fields())
	require.Empty(t, f.String())
}

func TestSetMetaAndFlow(t *testing.T) {
	s := tcp6()
	m := &packet.Meta{
		Flags: packet.HasTuple | packet.HasPorts | packet.HasProto | packet.Fragment, IPVer: 4, Proto: 17,
		Saddr: flowtable.V4(1), Daddr: flowtable.V4(2), Sport: 3, Dport: 4, NVLAN: 1, VLANs: 5,
	}
	s.SetMeta(m)
	require.Equal(t, &Subject{
		IPVer: 4, Saddr: flowtable.V4(1), Daddr: flowtable.V4(2), Sport: 3, Dport: 4, HasPorts: true, HasProto: true,
		Proto: 17, Fragment: true, NVLAN: 1, VLANs: 5, VRF: "default", Verdict: "drop", Reason: "NO_SOCKET",
	}, s)
	s.SetMeta(&packet.Meta{})
	require.Equal(t, &Subject{VRF: "default", Verdict: "drop", Reason: "NO_SOCKET"}, s)

	k := flowtable.KeyOf(flowtable.V4(1), flowtable.V4(2), 3, 4)
	s.SetFlow(&k, 6)
	require.EqualValues(t, 4, s.IPVer)
	require.Equal(t, flowtable.V4(2), s.Daddr, "the local side is the destination")
	require.EqualValues(t, 4, s.Dport)
	require.Equal(t, "default", s.VRF)
}

func TestWords(t *testing.T) {
	for _, w := range Words() {
		_, err := Compile(w, DecisionFields)
		if err != nil {
			require.NotContains(t, err.Error(), "unknown word", w)
		}
	}
}

func TestNoAllocs(t *testing.T) {
	f, err := Compile("not (tcp or icmp) and net 10.0.0.0/8 and port 53 and vlan 100.10 and vrf red and socket dns and path early", DecisionFields)
	require.NoError(t, err)
	s := udp4()
	require.True(t, f.Match(s))
	require.Zero(t, testing.AllocsPerRun(100, func() { f.Match(s) }))
}

func BenchmarkMatch(b *testing.B) {
	f, err := Compile("udp and net 10.0.0.0/8 and dst port 53", FrameFields)
	require.NoError(b, err)
	s := udp4()
	for b.Loop() {
		if !f.Match(s) {
			b.Fatal("no match")
		}
	}
}

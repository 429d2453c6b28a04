package command

import (
	"errors"
	"net/netip"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func on(b bool) *bool { return &b }

func ap(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

func TestParse(t *testing.T) {
	for line, want := range map[string]Command{
		"":                               nil,
		"  ":                             nil,
		"early-demux":                    EarlyDemux{},
		"early-demux udp":                EarlyDemux{Proto: "udp"},
		"early-demux udp off red":        EarlyDemux{Proto: "udp", On: on(false), VRF: "red"},
		"early-demux tcp on":             EarlyDemux{Proto: "tcp", On: on(true)},
		"early-demux off":                EarlyDemux{Proto: "ip", On: on(false)},
		"early-demux red":                EarlyDemux{VRF: "red"},
		"early-demux off vrf udp":        EarlyDemux{Proto: "ip", On: on(false), VRF: "udp"},
		"early-demux vrf udp":            EarlyDemux{VRF: "udp"},
		"ea u of red":                    EarlyDemux{Proto: "udp", On: on(false), VRF: "red"},
		"sysctl":                         Sysctl{},
		"sysctl vrf red":                 Sysctl{VRF: "red"},
		"sysctl udp_early_demux":         Sysctl{Name: "udp_early_demux"},
		"sysctl udp_early_demux red":     Sysctl{Name: "udp_early_demux", VRF: "red"},
		"sysctl udp_early_demux=0 red":   Sysctl{Name: "udp_early_demux", Value: "0", Set: true, VRF: "red"},
		"sysctl net.ipv4.tcp_tw_reuse=2": Sysctl{Name: "tcp_tw_reuse", Value: "2", Set: true},
		`sysctl ip_local_port_range="1024 2000" red`:            Sysctl{Name: "ip_local_port_range", Value: "1024 2000", Set: true, VRF: "red"},
		"sysctl ip_local_port_range=1024 2000 red":              Sysctl{Name: "ip_local_port_range", Value: "1024 2000", Set: true, VRF: "red"},
		"sysctl ip_local_reserved_ports=":                       Sysctl{Name: "ip_local_reserved_ports", Set: true},
		"sysctl ip_local_reserved_ports=8080,9000-9010":         Sysctl{Name: "ip_local_reserved_ports", Value: "8080,9000-9010", Set: true},
		"sysctl tcp_ehash_entries":                              Sysctl{Name: "tcp_ehash_entries"},
		"sysctl tcp_l3mdev_accept=1":                            Sysctl{Name: "tcp_l3mdev_accept", Value: "1", Set: true},
		"show vrfs":                                             Show{What: "vrfs"},
		"sh vr red":                                             Show{What: "vrfs", VRF: "red"},
		"show sockets web443/1":                                 Show{What: "sockets", Name: "web443/1"},
		"show sockets --vrf red":                                Show{What: "sockets", VRF: "red"},
		"show groups web443":                                    Show{What: "groups", Name: "web443"},
		"show workers dns/0":                                    Show{What: "workers", Name: "dns/0"},
		"show flows":                                            Show{What: "flows"},
		"show flows red --filter 'udp and port 53'":             Show{What: "flows", VRF: "red", Filter: "udp and port 53"},
		"show flows --filter=tcp --limit 20 --after x/7 --json": Show{What: "flows", Filter: "tcp", Limit: 20, After: "x/7"},
		"show ports eth0":                                       Show{What: "ports", Name: "eth0"},
		"show lcores":                                           Show{What: "lcores"},
		"show drops red":                                        Show{What: "drops", VRF: "red"},
		"show mib":                                              Show{What: "mib"},
		"show config":                                           Show{What: "config"},
		"show version":                                          Show{What: "version"},
		"explain udp 10.0.0.9:9000 10.0.0.1:53":                 Explain{Proto: "udp", Src: ap("10.0.0.9:9000"), Dst: ap("10.0.0.1:53")},
		"explain --dev eth0.10 tcp [::1]:1 [::2]:2":             Explain{Proto: "tcp", Dev: "eth0.10", Src: ap("[::1]:1"), Dst: ap("[::2]:2")},
		"explain tcp 1.1.1.1:1 2.2.2.2:2 --dev e":               Explain{Proto: "tcp", Dev: "e", Src: ap("1.1.1.1:1"), Dst: ap("2.2.2.2:2")},
		`bind {name: b, bind: "10.0.0.1:7001", x: [1, {}]}`:     Bind{Spec: `{name: b, bind: "10.0.0.1:7001", x: [1, {}]}`, Col: 6},
		`bind {name: 'it''s }', y: "\"}"}`:                      Bind{Spec: `{name: 'it''s }', y: "\"}"}`, Col: 6},
		`bind {name: it's}`:                                     Bind{Spec: `{name: it's}`, Col: 6},
		"connect b 10.0.0.9:9000":                               Connect{Socket: "b", Faddr: ap("10.0.0.9:9000")},
		"connect b/3 [::9]:9 --laddr ::1":                       Connect{Socket: "b/3", Faddr: ap("[::9]:9"), Laddr: netip.MustParseAddr("::1")},
		"connect {name: c}":                                     Connect{Spec: "{name: c}", Col: 9},
		"close b":                                               Close{"b"},
		"close web443/2":                                        Close{"web443/2"},
		"clear counters":                                        ClearCounters{},
		"cle c":                                                 ClearCounters{},
		"capture":                                               Capture{},
		"capture --out f.pcapng --count 9 --duration 10s udp and (port 53 or vrf red)": Capture{
			Out: "f.pcapng", Count: 9, Duration: 10 * time.Second, Filter: "udp and (port 53 or vrf red)"},
		"capture 'udp && port 53' --json": Capture{Filter: "udp && port 53"},
		"capture tcp || verdict drop":     Capture{Filter: "tcp || verdict drop"},
		"recorder dump --out -":           Recorder{Out: "-"},
		"reload":                          Reload{},
		"shutdown":                        Shutdown{},
		"help show flows":                 Help{"show flows"},
		"exit":                            Exit{},
		"q":                               Exit{},
	} {
		got, err := Parse(line)
		require.NoError(t, err, line)
		require.Equal(t, want, got, line)
	}
}

// Each wrong line with the words that the error points at.
func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ line, at, msg string }{
		{"shwo vrfs", "shwo", "did you mean show"},
		{"c", "c", "could be capture, clear, close, connect"},
		{"frobnicate", "frobnicate", "want one of"},
		{"show", "", "want one of config, drops"},
		{"show v", "v", "could be version, vrfs"},
		{"show flow5", "flow5", "did you mean flows"},
		{"show vrfs a b", "b", "unexpected"},
		{"show vrfs a/b", "a/b", "want a name"},
		{"show lcores 1", "1", "unexpected"},
		{"show flows --filter 'udp and prot 5'", "prot", "filter: unknown word"},
		{"show flows --filter verdict", "verdict", "not known here"},
		{"show flows --limit 0", "0", "from 1"},
		{"show flows --limit", "--limit", "want N"},
		{"show flows --limit 1 --limit 2", "--limit", "twice"},
		{"show flows --lim 1", "--lim", "want --json, --filter, --limit, --after"},
		{"early-demux upd off", "upd", "did you mean udp"},
		{"shut", "shut", "did you mean"},
		{"early-demux o", "o", "could be on, off"},
		{"early-demux udp off red blue", "blue", "unexpected"},
		{"sysctl udp_early_demx", "udp_early_demx", "did you mean udp_early_demux"},
		{"sysctl udp_early_demux=2", "udp_early_demux=2", "0 to 1"},
		{"sysctl udp_early_demux=on", "udp_early_demux=on", "0 to 1"},
		{"sysctl tcp_ehash_entries=5", "tcp_ehash_entries=5", "read-only"},
		{"sysctl tcp_l3mdev_accept=1 red", "red", "one for all VRFs"},
		{"sysctl ip_local_port_range=5", "ip_local_port_range=5", "two ports"},
		{"sysctl ip_local_port_range=9 5", "ip_local_port_range=9", "below the first"},
		{"sysctl ip_local_reserved_ports=9-5", "ip_local_reserved_ports=9-5", "ports and ranges"},
		{"sysctl early_demux_match=exact", "early_demux_match=exact", "no sysctl"},
		{"explain", "", "want tcp|udp"},
		{"explain sctp 1.1.1.1:1 2.2.2.2:2", "sctp", "did you mean tcp"},
		{"explain udp 1.1.1.1 2.2.2.2:2", "1.1.1.1", "want ADDR:PORT"},
		{"explain udp 1.1.1.1:1", "", "want DADDR:DPORT"},
		{"explain udp 1.1.1.1:1 [::1]:2", "[::1]:2", "family"},
		{"explain udp 1.1.1.1:1 2.2.2.2:2 x", "x", "unexpected"},
		{"bind", "", "want {SOCKET}"},
		{"bind b", "b", "want a mapping"},
		{"bind {name: b", "{name: b", "`{` is not closed"},
		{"bind {name: \"b}", "{name: \"b}", "`{` is not closed"},
		{"connect b", "", "want ADDR:PORT"},
		{"connect b 10.0.0.1", "10.0.0.1", "want ADDR:PORT"},
		{"connect b 10.0.0.1:1 --laddr ::1", "::1", "family"},
		{"connect {a: b} 10.0.0.1:1", "10.0.0.1:1", "unexpected"},
		{"close", "", "want SOCKET"},
		{"close a/b", "a/b", "want NAME"},
		{"close a/1/2", "a/1/2", "want NAME"},
		{"capture --count x", "x", "want a number"},
		{"capture --duration 5", "5", "want a time"},
		{"capture udp and", "", "filter: the expression ends"},
		{"reload now", "now", "unexpected"},
		{"show vrfs 'a", "'a", "the quote is not closed"},
	} {
		_, err := Parse(c.line)
		var e *Error
		require.True(t, errors.As(err, &e), "%q: %v", c.line, err)
		require.Equal(t, c.at, e.Line[e.Pos:e.Pos+e.Len], "%q: %v", c.line, err)
		require.Contains(t, e.Msg, c.msg, c.line)
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestParseRefusesTheShell(t *testing.T) {
	for _, line := range []string{"watch 1 show vrfs", "show vrfs | match x"} {
		_, err := Parse(line)
		require.ErrorContains(t, err, "belong to the shell", line)
	}
}

func TestParseLine(t *testing.T) {
	l, err := ParseLine("watch 2 show flows --filter 'udp || tcp' | match ^10 | json")
	require.NoError(t, err)
	require.Equal(t, 2*time.Second, l.Watch)
	require.True(t, l.JSON)
	require.True(t, l.Match.MatchString("10.0.0.1"))
	require.Equal(t, "show flows --filter 'udp || tcp'", l.Text)
	require.Equal(t, Show{What: "flows", Filter: "udp || tcp"}, l.Command)

	l, err = ParseLine("wa 500ms show vrfs --json")
	require.NoError(t, err)
	require.Equal(t, 500*time.Millisecond, l.Watch)
	require.True(t, l.JSON)

	l, err = ParseLine("watch show vrfs")
	require.NoError(t, err)
	require.Equal(t, time.Second, l.Watch)

	l, err = ParseLine("   ")
	require.NoError(t, err)
	require.Nil(t, l.Command)

	for line, msg := range map[string]string{
		"watch":                            "want a command",
		"watch 5":                          "want a command",
		"watch 0 show vrfs":                "want seconds",
		"watch 9000 show vrfs":             "want seconds",
		"watch 5x show vrfs":               "want seconds",
		"show vrfs |":                      "after `|`",
		"show vrfs | jsn":                  "did you mean json",
		"show vrfs | json x":               "unexpected",
		"show vrfs | match":                "one regular expression",
		"show vrfs | match a b":            "one regular expression",
		"show vrfs | match (":              "match: error parsing regexp",
		"show vrfs | match a | match b":    "only once",
		"| json":                           "want a command",
		"show vrfs | match \"a b\" | grep": "unknown pipe",
	} {
		_, err := ParseLine(line)
		require.ErrorContains(t, err, msg, line)
	}
}

func TestCaret(t *testing.T) {
	_, err := Parse("show vrfs é b")
	require.Equal(t, "column 11: VRF \"é\": want a name", err.Error())
	require.Equal(t, "show vrfs é b\n          ^", err.(*Error).Caret())
}

func TestParseSet(t *testing.T) {
	for arg, want := range map[string]Sysctl{
		"udp_early_demux=0":                   {Name: "udp_early_demux", Value: "0", Set: true},
		"red:tcp_early_demux=1":               {Name: "tcp_early_demux", Value: "1", Set: true, VRF: "red"},
		"early_demux_match=exact":             {Name: "early_demux_match", Value: "exact", Set: true},
		"ip_local_port_range=32768 60999":     {Name: "ip_local_port_range", Value: "32768 60999", Set: true},
		"x:net.ipv4.ip_early_demux=0":         {Name: "ip_early_demux", Value: "0", Set: true, VRF: "x"},
		"red:ip_local_reserved_ports=1,2-3,4": {Name: "ip_local_reserved_ports", Value: "1,2-3,4", Set: true, VRF: "red"},
	} {
		got, err := ParseSet(arg)
		require.NoError(t, err, arg)
		require.Equal(t, want, got)
	}
	for arg, msg := range map[string]string{
		"udp_early_demux": "want [VRF:]NAME=VALUE", "udp_early=0": "unknown sysctl", "a b:ip_early_demux=0": "no VRF name",
		"red:early_demux_match=linux": "one for all VRFs", "early_demux_match=both": "linux or exact", "tcp_midstream=7": "0 to 1",
		"udp_hash_entries=1": "read-only", "tcp_idle_timeout=-1": "0 to",
	} {
		_, err := ParseSet(arg)
		require.ErrorContains(t, err, msg, arg)
	}
}

func TestJoin(t *testing.T) {
	for _, args := range [][]string{
		{"show", "flows", "--filter=udp and port 53"},
		{"bind", `{name: b, bind: "10.0.0.1:7001"}`},
		{"sysctl", "ip_local_port_range=32768 60999"},
		{"capture", "--out", "a b.pcapng", `it's "q" \ |`},
		{"x", ""},
		{"x", "{open", "a=", "=b", "|", "||"},
	} {
		var got []string
		for _, tok := range lex(Join(args)) {
			require.False(t, tok.open)
			got = append(got, tok.text)
		}
		require.Equal(t, args, got)
	}
	require.Equal(t, "show vrfs", Join([]string{"show vrfs"}), "one argument is a line")
	l, err := ParseLine(Join([]string{"show", "flows", "--filter=udp and port 53"}))
	require.NoError(t, err)
	require.Equal(t, "udp and port 53", l.Command.(Show).Filter)
}

// The table is what everything else is made from: it must be sorted (prefixes
// and help rely on it), complete, and its examples must be right.
func TestTable(t *testing.T) {
	require.True(t, sort.SliceIsSorted(Table, func(i, j int) bool {
		return strings.Join(Table[i].Path, " ") < strings.Join(Table[j].Path, " ")
	}))
	for i := range Table {
		s := &Table[i]
		require.NotEmpty(t, s.Help, s.Path)
		require.NotNil(t, s.build, s.Path)
		if len(s.Path) > 1 {
			require.NotEmpty(t, groupHelp[s.Path[0]], s.Path)
		}
		for _, e := range s.Examples {
			_, err := Parse(e)
			require.NoError(t, err, e)
			require.True(t, strings.HasPrefix(e, strings.Join(s.Path, " ")), e)
		}
		if len(s.Args)+len(s.Flags) > 0 {
			require.NotEmpty(t, s.Examples, s.Path)
		}
	}
	for _, w := range []string{"steer", "drain"} {
		_, err := Parse(w + " x")
		require.ErrorContains(t, err, "unknown command")
	}
}

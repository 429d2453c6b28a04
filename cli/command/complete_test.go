package command

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func objects(k Kind) []string {
	switch k {
	case KindVRF:
		return []string{"default", "red", "re-2"}
	case KindSocket:
		return []string{"dns/0", "web443/0", "web443/1"}
	case KindWorker:
		return []string{"dns/0"}
	case KindIface:
		return []string{"eth0", "eth0.10"}
	case KindGroup:
		return []string{"web443"}
	}
	return nil
}

func TestComplete(t *testing.T) {
	for _, c := range []struct {
		line  string
		start int
		words []string
	}{
		{"sh", 0, []string{"show", "shutdown"}},
		{"cl", 0, []string{"clear", "close"}},
		{"show ", 5, []string{"config", "drops", "flows", "groups", "lcores", "mib", "ports", "sockets", "version", "vrfs", "workers"}},
		{"sh v", 3, []string{"version", "vrfs"}},
		{"show vrfs ", 10, []string{"--json", "default", "re-2", "red"}},
		{"show vrfs re", 10, []string{"re-2", "red"}},
		{"show vrfs red ", 14, []string{"--json"}},
		{"show flows --f", 11, []string{"--filter"}},
		{"show flows --limit 5 --", 21, []string{"--after", "--filter", "--json"}},
		{"show sockets --vrf r", 19, []string{"re-2", "red"}},
		{"show sockets w", 13, []string{"web443/0", "web443/1"}},
		{"show lcores x ", 14, nil},
		{"early-demux ", 12, []string{"--json", "default", "ip", "off", "on", "re-2", "red", "tcp", "udp"}},
		{"early-demux u", 12, []string{"udp"}},
		{"early-demux udp o", 16, []string{"off", "on"}},
		{"early-demux udp off r", 20, []string{"re-2", "red"}},
		{"early-demux udp off vrf r", 24, []string{"re-2", "red"}},
		{"sysctl udp", 7, []string{"udp_early_demux", "udp_hash_entries", "udp_l3mdev_accept"}},
		{"close d", 6, []string{"dns/0"}},
		{"connect web443/1 ", 17, []string{"--json", "--laddr"}},
		{"explain --dev e", 14, []string{"eth0", "eth0.10"}},
		{"explain t", 8, []string{"tcp"}},
		{"capture udp and p", 16, []string{"path", "pim", "port", "portrange", "proto"}},
		{"watch 5 sh", 8, []string{"show", "shutdown"}},
		{"w", 0, []string{"watch"}},
		{"show vrfs | ", 12, []string{"json", "match"}},
		{"show vrfs | m", 12, []string{"match"}},
		{"nonsense ", 9, nil},
		{"show nonsense ", 14, nil},
		{"help sh", 5, []string{"show", "shutdown"}},
	} {
		start, words := Complete(c.line, InCtl|InShell, objects)
		require.Equal(t, c.start, start, c.line)
		require.Equal(t, c.words, words, c.line)
	}
	_, words := Complete("show vrfs r", InCtl, nil)
	require.Empty(t, words, "no engine to ask")
	_, words = Complete("", InScript, nil)
	require.Equal(t, []string{"bind", "close", "connect", "early-demux", "sysctl"}, words)
}

// Whatever completion offers is a word that the parser then accepts in place.
func TestCompletionsParse(t *testing.T) {
	for _, line := range []string{"early-demux ", "early-demux udp ", "show ", "show vrfs ", "show sockets ", "sysctl ", "sysctl vrf ", "close ", "show flows --json "} {
		start, words := Complete(line, InCtl|InShell, objects)
		require.NotEmpty(t, words, line)
		for _, w := range words {
			if w == "--filter" || w == "--limit" || w == "--after" || w == "--vrf" || line == "close " && w == "--json" {
				continue
			}
			_, err := Parse(line[:start] + w)
			require.NoError(t, err, line+w)
		}
	}
}

func TestQuestion(t *testing.T) {
	q := Question("early-demux udp ", InCtl|InShell, objects)
	for _, want := range []string{"  on ", "  off ", "look flows up before routing", "VRF ", "default, red, re-2", "<enter>"} {
		require.Contains(t, q, want)
	}
	require.Contains(t, Question("", InCtl|InShell, nil), "show or set the early-demux switches")
	require.Contains(t, Question("explain udp ", InCtl, nil), "SADDR:SPORT")
	require.NotContains(t, Question("explain udp ", InCtl, nil), "<enter>")
	require.Equal(t, "column 1: unknown command \"shwo\": did you mean show?\n", Question("shwo ", InCtl|InShell, nil))
	require.Contains(t, Question("shutdown ", InCtl, nil), "<enter>")
}

func TestHelpText(t *testing.T) {
	all, err := HelpText("", InCtl|InShell)
	require.NoError(t, err)
	for i := range Table {
		require.Contains(t, all, Table[i].brief())
		require.Contains(t, all, Table[i].Help)
	}
	for _, l := range splitLines(all) {
		require.LessOrEqual(t, len([]rune(l)), 100, l)
	}
	one, err := HelpText("early", InCtl|InShell)
	require.NoError(t, err)
	require.Contains(t, one, "early-demux [ip|tcp|udp] [on|off] [VRF]")
	require.Contains(t, one, "e.g. early-demux udp off red")
	some, err := HelpText("show", InCtl)
	require.NoError(t, err)
	require.Contains(t, some, "show flows [VRF]")
	require.NotContains(t, some, "reload")
	sys, err := HelpText("sysctl", InCtl)
	require.NoError(t, err)
	require.Contains(t, sys, "tcp_midstream")
	_, err = HelpText("shwo", InCtl)
	require.ErrorContains(t, err, "did you mean show")
	_, err = HelpText("reload now", InCtl)
	require.ErrorContains(t, err, "unexpected")
}

func splitLines(s string) (out []string) {
	start := 0
	for i := range s {
		if s[i] == '\n' {
			out = append(out, s[start:i])
			start = i + 1
		}
	}
	return out
}

package gen

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"

	"edemux/cli/exit"
)

func prefix(s string) []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix(s)} }

func TestOptionErrors(t *testing.T) {
	for _, c := range []struct {
		o   Options
		msg string
	}{
		{Options{Flows: -1}, "--flows -1: want 1 to"},
		{Options{Packets: -1}, "--packets -1"},
		{Options{Proto: "sctp"}, `--proto "sctp": want udp, tcp, mixed`},
		{Options{Family: "ipv4"}, "--family"},
		{Options{Order: "sorted"}, "--order"},
		{Options{End: "close"}, "--end"},
		{Options{Link: "wifi"}, "--link"},
		{Options{Format: "erf"}, "--format"},
		{Options{Resolution: "ms"}, "--resolution"},
		{Options{Size: "59"}, "--size"},
		{Options{Size: "100-60"}, "--size"},
		{Options{Size: "70000"}, "--size"},
		{Options{Size: "big"}, "--size"},
		{Options{MTU: 100}, "--mtu 100: want 256"},
		{Options{ICMP: 101}, "--icmp"},
		{Options{Multicast: 5, Proto: "tcp"}, "no multicast"},
		{Options{Interfaces: 2}, "--format pcapng"},
		{Options{LocalPorts: "0"}, "--local-ports"},
		{Options{LocalPorts: "9-8"}, "--local-ports"},
		{Options{Rate: 2e9}, "--rate"},
		{Options{VLANs: []string{"5000"}}, "--vlan"},
		{Options{VLANs: []string{"1..2"}}, "--vlan"},
		{Options{VLANs: []string{"1"}, Link: "raw"}, "has no tags"},
		{Options{Local: prefix("10.0.0.1/8")}, "host bits: write 10.0.0.0/8"},
		{Options{Remote: prefix("224.0.0.0/4")}, "unicast"},
		{Options{Family: "v6", Remote: prefix("::ffff:10.0.0.0/104")}, "unicast"},
		{Options{Flows: 30000, Remote: prefix("192.0.2.1/32")}, "make only 28232 flows of v4"},
		{Options{Start: -5}, "--start"},
	} {
		err := Generate(&bytes.Buffer{}, c.o)
		require.ErrorContains(t, err, c.msg, "%+v", c.o)
		require.True(t, strings.HasPrefix(err.Error(), "gen: "), err)
		_, err = Frames(c.o)
		require.ErrorContains(t, err, c.msg)
		require.Error(t, WriteFlows(&bytes.Buffer{}, c.o))
		require.Error(t, EachFlow(c.o, nil))
	}
}

func TestWriteFlows(t *testing.T) {
	o := Options{Flows: 100, Family: "mixed", Proto: "mixed", Multicast: 10, Pool: "dns", Workers: 3}
	var b bytes.Buffer
	require.NoError(t, WriteFlows(&b, o))
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	require.Equal(t, "# laddr\tlport\tfaddr\tfport\tworker", lines[0])
	have := map[string]bool{}
	for i, l := range lines[1:] {
		f := strings.Split(l, "\t")
		require.Len(t, f, 5)
		require.Equal(t, fmt.Sprintf("dns/%d", i%3), f[4])
		have[strings.Join(f[:4], " ")] = true
	}
	// exactly the unicast UDP flows of the capture
	for _, s := range read(t, generate(t, o)) {
		id := fmt.Sprintf("%s %d %s %d", s.Daddr, s.Dport, s.Saddr, s.Sport)
		if s.Proto == 17 && !s.Daddr.Netip().IsMulticast() {
			require.True(t, have[id], id)
		}
	}
	require.InDelta(t, 45, len(have), 10)
}

func TestOrders(t *testing.T) {
	const n = 64
	counts := func(kind string, draws int) []int {
		o := newOrder(kind, n, 7)
		c := make([]int, n)
		for range draws {
			now, _ := o.next()
			c[now]++
		}
		return c
	}
	for _, kind := range []string{"robin", "shuffle"} {
		for i, c := range counts(kind, 3*n) {
			require.Equal(t, 3, c, "%s flow %d", kind, i)
		}
	}
	for i, c := range counts("random", 1000*n) {
		require.InDelta(t, 1000, c, 150, i)
	}
	var harmonic float64
	for k := range n {
		harmonic += 1 / float64(k+1)
	}
	const draws = 1_000_000
	for k, c := range counts("zipf", draws) {
		want := draws / harmonic / float64(k+1)
		require.InDelta(t, want, c, 5*math.Sqrt(want)+1, "rank %d", k)
	}
}

// The table of Walker's method is right by itself: what the columns give each
// flow adds up to its share.
func TestAliasShares(t *testing.T) {
	for _, n := range []int{1, 2, 3, 100, 4097} {
		a := newAlias(n)
		share := make([]float64, n)
		for k := range n {
			p := float64(a.keep[k]) / aliasOne
			require.LessOrEqual(t, a.keep[k], uint64(aliasOne))
			share[k] += p
			share[a.other[k]] += 1 - p
		}
		var harmonic float64
		for k := range n {
			harmonic += 1 / float64(k+1)
		}
		for k := range n {
			require.InEpsilon(t, float64(n)/harmonic/float64(k+1), share[k], 1e-5, "%d of %d", k, n)
		}
	}
}

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	app := &cli.App{Commands: []*cli.Command{Command()}, Writer: &out, ExitErrHandler: func(*cli.Context, error) {}}
	err := app.Run(append([]string{"edemux", "gen"}, args...))
	return out.String(), err
}

func TestCommand(t *testing.T) {
	out, err := run(t, "-")
	require.NoError(t, err)
	require.Equal(t, hash(generate(t, Options{})), hash([]byte(out)), "the defaults of the flags are those of Options")

	dir := t.TempDir()
	file, flows := filepath.Join(dir, "a.pcapng"), filepath.Join(dir, "flows.tsv")
	_, err = run(t, "--flows", "10", "--vlan", "10,none", "--local", "192.0.2.1,2001:db8::/64", "--start", "2030-01-01T00:00:00.5Z", "--write-flows", flows, file)
	require.NoError(t, err)
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	frames := read(t, raw)
	require.Len(t, frames, 40)
	require.Equal(t, "192.0.2.1", frames[0].Daddr.String())
	require.EqualValues(t, 1893456000_500_000_000, frames[0].TS)
	require.Equal(t, []byte{0x0a, 0x0d, 0x0d, 0x0a}, raw[:4], "pcapng by the name of the file")
	tsv, err := os.ReadFile(flows)
	require.NoError(t, err)
	require.Equal(t, 11, bytes.Count(tsv, []byte("\n")))

	out, err = run(t, "--flows", "3", "--write-flows", "-")
	require.NoError(t, err)
	require.Equal(t, 4, strings.Count(out, "\n"), "flows alone")
}

func TestCommandErrors(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		code int
		msg  string
	}{
		{nil, exit.Usage, "want a file"},
		{[]string{"a", "b"}, exit.Usage, "b: want one file"},
		{[]string{"--flows", "0", "-"}, exit.Usage, "--flows 0: want at least 1"},
		{[]string{"--rate", "0", "-"}, exit.Usage, "--rate 0"},
		{[]string{"--local", "10.0.0.1,10.0.0.2", "-"}, exit.Usage, "second one of its family"},
		{[]string{"--remote", "here", "-"}, exit.Usage, "want an address"},
		{[]string{"--start", "now", "-"}, exit.Usage, "want a time"},
		{[]string{"--proto", "icmp", "-"}, exit.Usage, "--proto"},
		{[]string{"--write-flows", "-", "-"}, exit.Usage, "cannot both"},
		{[]string{filepath.Join(dir, "no", "such")}, exit.Failure, "no such file"},
	} {
		_, err := run(t, c.args...)
		require.ErrorContains(t, err, c.msg, "%q", c.args)
		require.NotContains(t, err.Error(), "\n")
		var e *exit.Error
		if c.code == exit.Usage {
			require.True(t, errors.As(err, &e) && e.Code == c.code, "%q", c.args)
		} else {
			require.False(t, errors.As(err, &e))
		}
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

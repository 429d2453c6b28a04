package render

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"edemux/cli/control"
	"edemux/cli/shell/shelltest"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares text with testdata/NAME.txt and holds it to 80 columns.
func golden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), text)
	for _, l := range strings.Split(text, "\n") {
		require.LessOrEqual(t, utf8.RuneCountInString(l), 80, l)
	}
}

func answers(n int) map[string]any {
	s := shelltest.Sample(n)
	return map[string]any{
		"vrfs": &control.VRFs{Head: s.Head, VRFs: s.VRFs}, "vrf": &control.VRFs{Head: s.Head, VRFs: s.VRFs[2:3]},
		"workers": &control.Workers{Head: s.Head, Workers: s.Workers},
		"groups":  &control.Groups{Head: s.Head, Groups: s.Groups}, "ports": &control.Ports{Head: s.Head, Ports: s.Ports},
		"lcores": &control.Lcores{Head: s.Head, Lcores: s.Lcores}, "mib": &control.MIB{Head: s.Head, Counters: s.MIB},
		"drops": &control.Drops{Head: s.Head, Drops: s.Drops, Total: s.Totals.Verdicts.Drop},
	}
}

func render(t *testing.T, answer any, width int) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Answer(&b, answer, width))
	return b.String()
}

func TestGolden(t *testing.T) {
	for name, a := range answers(5) {
		t.Run(name, func(t *testing.T) { golden(t, name, render(t, a, 80)) })
	}
	for name, a := range answers(1 << 20) { // 12 days of it
		t.Run(name+"_large", func(t *testing.T) { golden(t, name+"_large", render(t, a, 80)) })
	}
}

func TestGoldenOthers(t *testing.T) {
	head := control.Head{Snapshot: 9, Epoch: 3, Time: shelltest.Epoch}
	for name, a := range map[string]any{
		"early_demux": &control.EarlyDemux{Epoch: 3, VRFs: []control.VRFSwitches{
			{VRF: "default", Switches: control.Switches{IP: true, TCP: true}}, {VRF: "a-name-of-thirty-one-characters", Switches: control.Switches{TCP: true}}}},
		"sysctls": &control.Sysctls{Epoch: 3, Values: []control.SysctlValue{
			{VRF: "", Name: "udp_l3mdev_accept", Value: "0"}, {VRF: "red", Name: "ip_local_port_range", Value: "32768 60999"},
			{VRF: "red", Name: "ip_local_reserved_ports", Value: ""}, {VRF: "red", Name: "udp_hash_entries", Value: "-1024", ReadOnly: true}}},
		"changed":   &control.Changed{Epoch: 4, Did: "udp early demux is off in red."},
		"reloaded":  &control.Reloaded{Epoch: 4, Did: []string{"closed b", "bound c"}, Warnings: []string{"line 3: odd"}},
		"unchanged": &control.Reloaded{Epoch: 4, Unchanged: true},
		"explained": &control.Explained{Steps: []control.ExplainStep{{Step: "packet", Text: "udp 10.0.0.9:9000 > 10.0.0.1:53"},
			{Step: "early demux", Text: "missed: no connected socket at the head of the chain, which holds three sockets that are not connected"}}},
		"config":  &control.Config{Epoch: 4, File: "edemux.yaml", Loaded: shelltest.Epoch, Text: "vrfs:\n\t- name: red\n", Changes: []string{"close b"}, Dropped: 2},
		"version": &control.Version{API: "1", Edemux: "1.2.3", Go: "go1.26", DPDK: "22.11", PID: 77, Started: shelltest.Epoch},
		"sockets": &control.Sockets{Head: head, Total: 2, Sockets: []control.Socket{
			{Name: "dns/0", Proto: "udp", Family: 6, Local: "[::]:53", State: "bound", VRF: "default", Worker: "dns/0", Dev: "eth0.10"},
			{Name: "a", Proto: "tcp", Family: 6, Local: "[2001:db8:1234:5678:9abc:def0:1234:5678]:443", Remote: "[2001:db8:1234:5678:9abc:def0:1234:5678]:40000", State: "connected", VRF: "red", Worker: "web/0"}}},
		"flows": &control.Flows{Head: head, Total: 100000, After: "eyJ2", Flows: []control.Flow{
			{VRF: "default", Proto: "tcp", Local: "10.0.0.1:443", Remote: "192.0.2.9:40000", State: "ESTABLISHED", Socket: "web443/0", Worker: "web/0", Expires: -1}}},
		"flows_mixed": &control.Flows{Head: head, Total: 2, Flows: []control.Flow{
			{VRF: "red", Proto: "tcp", Local: "10.0.0.1:443", Remote: "192.0.2.9:40000", State: "NEW_SYN_RECV", Socket: "web443/0", Worker: "web/0", Expires: 62900},
			{VRF: "red", Proto: "udp", Local: "[2001:db8:1234:5678:9abc:def0:1234:5678]:53", Remote: "[2001:db8:1234:5678:9abc:def0:1234:5679]:40000", State: "ESTABLISHED", Socket: "a", Worker: "web/1", Expires: -1, Dev: "eth0"}}},
		"nothing": &control.Flows{Head: head, Total: 100000},
		"clean":   &control.Drops{Head: head},
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, render(t, a, 80)) })
	}
}

// What is not a terminal gets each row on one line, however long.
func TestUnbounded(t *testing.T) {
	a := answers(1 << 20)["vrfs"]
	text := render(t, a, 0)
	require.Contains(t, text, "\nVRF      IP  TCP  UDP")
	for _, l := range strings.Split(text, "\n") {
		require.False(t, strings.HasPrefix(l, "    "), l)
	}
	require.NotEqual(t, text, render(t, a, 80))
}

// Numbers are exact: each counter of the answer is in the text.
func TestExact(t *testing.T) {
	s := shelltest.Sample(1234567)
	text := render(t, &control.VRFs{VRFs: s.VRFs}, 80)
	for _, n := range []string{"1139505341000", "1134567073000", "1109875733000", "432098450000"} {
		require.Contains(t, text, n)
	}
}

// Nothing in an answer can drive the terminal.
func TestNoControl(t *testing.T) {
	evil := "\x1b[2J\x9b\r\nname\x00"
	for _, a := range []any{
		&control.VRFs{VRFs: []control.VRF{{Name: evil, Interfaces: []string{evil}, Paths: map[string]uint64{evil: 1}, Drops: map[string]uint64{evil: 1}, Frames: 1, Early: control.EarlyCounts{NotTried: map[string]uint64{evil: 1}}}}},
		&control.Changed{Did: evil}, &control.Explained{Text: evil}, &control.Explained{Steps: []control.ExplainStep{{Step: evil, Text: evil}}},
		&control.Config{File: evil, Text: evil, Changes: []string{evil}}, &control.Version{Edemux: evil},
		&control.Drops{Total: 1, Drops: []control.Drop{{Reason: evil, VRF: evil, Frames: 1, Hint: evil}}},
		&control.Reloaded{Did: []string{evil}, Warnings: []string{evil}}, &control.Sysctls{Values: []control.SysctlValue{{Name: evil, Value: evil}}},
		&control.Flows{Flows: []control.Flow{{VRF: evil, Socket: evil}}, After: evil},
	} {
		text := render(t, a, 80)
		require.NotContains(t, text, "\x1b")
		require.NotContains(t, text, "\x00")
		require.NotContains(t, text, "\r")
		require.NotContains(t, text, "\u009b")
	}
}

func TestUnknownAnswer(t *testing.T) {
	require.ErrorContains(t, Answer(&bytes.Buffer{}, &control.Objects{}, 80), "control.Objects")
}

func TestNumbers(t *testing.T) {
	for n, want := range map[float64]string{0: "0", 7.4: "7", 999: "999", 999.7: "1.00k", 1234: "1.23k", 12345: "12.3k", 999499: "999k", 999600: "1.00M", 18446744073709551615: "18446744T"} {
		if n < 1e15 {
			require.Equal(t, want, short(n))
			require.LessOrEqual(t, len(short(n)), 5)
		}
	}
	for x, want := range map[float64]string{0: "0.0%", 1: "100.0%", 0.5: "50.0%", 0.0001: "<0.1%", 0.99999: ">99%"} {
		require.Equal(t, want, percent(x))
	}
	for ns, want := range map[uint64]string{0: "0ns", 999: "999ns", 1500: "1.50us", uint64(12 * time.Millisecond): "12.0ms", uint64(63 * time.Second): "63.0s", uint64(300 * time.Second): "300s"} {
		require.Equal(t, want, span(ns))
	}
	require.Equal(t, "-", share(0, 0))
	require.Equal(t, "b 3, a 2, c 2", byCount(map[string]uint64{"a": 2, "b": 3, "c": 2, "d": 0}))
	require.Equal(t, "-", orNone(-1))
}

func TestWrap(t *testing.T) {
	require.Equal(t, []string{"a bb", "ccc"}, wrap("a bb ccc", 5))
	require.Equal(t, []string{"toolong", "x"}, wrap("toolong x", 3))
	require.Equal(t, []string{"a b"}, wrap("a b", 0))
	require.Equal(t, []string{""}, wrap("", 10))
}

package edemux_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// decisionColumns is the header line of the decisions TSV.
const decisionColumns = "frame ts_ns port vrf vlan ipver proto saddr sport daddr dport verdict reason path socket worker"

// timingFields are the keys of the summary that may differ between runs.
var timingFields = []string{"elapsed_s", "pps", "engine", "lcores"}

// table is a decisions TSV: rows of one cell per column of decisionColumns.
type table [][]string

func column(name string) int { return slices.Index(strings.Fields(decisionColumns), name) }

func (tb table) cell(row int, name string) string { return tb[row][column(name)] }

// parseDecisions checks the shape of a decisions TSV and splits it.
func parseDecisions(t testing.TB, tsv []byte) table {
	t.Helper()
	require.Truef(t, bytes.HasSuffix(tsv, []byte("\n")), "the last line ends without a newline")
	lines := strings.Split(strings.TrimSuffix(string(tsv), "\n"), "\n")
	require.Equal(t, decisionColumns, strings.ReplaceAll(lines[0], "\t", " "))
	want := len(strings.Fields(decisionColumns))
	rows := make(table, 0, len(lines)-1)
	for i, line := range lines[1:] {
		cells := strings.Split(line, "\t")
		require.Lenf(t, cells, want, "line %d: %q", i+2, line)
		require.NotContainsf(t, cells, "", "line %d has an empty cell: %q", i+2, line)
		rows = append(rows, cells)
	}
	return rows
}

// summary is the part of the replay summary that the checks read.
type summary struct {
	Schema string
	Input  struct{ Frames int }
	Verdicts,
	Paths,
	Drops map[string]int
	Copies  int
	Workers map[string]struct{ Packets int }
}

// replayed is what one run of edemux replay decided.
type replayed struct {
	tsv     []byte
	rows    table
	summary summary
	raw     map[string]any // the summary without its timing fields
}

// replay runs edemux replay with a decisions file and --json and checks that
// the two agree with each other.
func replay(t testing.TB, args ...string) replayed {
	t.Helper()
	file := filepath.Join(t.TempDir(), "decisions.tsv")
	out := edemuxOK(t, append([]string{"replay", "--json", "--decisions", file}, args...)...)
	tsv, err := os.ReadFile(file)
	require.NoError(t, err)
	r := replayed{tsv: tsv, rows: parseDecisions(t, tsv)}
	require.NoErrorf(t, json.Unmarshal(out.stdout, &r.summary), "%s", out.stdout)
	require.NoError(t, json.Unmarshal(out.stdout, &r.raw))
	for _, f := range timingFields {
		require.Containsf(t, r.raw, f, "summary")
		delete(r.raw, f)
	}
	r.check(t)
	return r
}

// check holds the decisions and the summary of one run together.
func (r replayed) check(t testing.TB) {
	t.Helper()
	assert.Equal(t, "edemux.replay/1", r.summary.Schema)
	verdicts, reasons, total := map[string]int{}, map[string]int{}, 0
	for i := range r.rows {
		verdict, reason := r.rows.cell(i, "verdict"), r.rows.cell(i, "reason")
		verdicts[verdict]++
		if verdict == "drop" {
			reasons[reason]++
			assert.NotEqualf(t, "-", reason, "row %d: a drop without a reason", i+1)
		}
		hasWorker := r.rows.cell(i, "worker") != "-"
		assert.Falsef(t, hasWorker && verdict != "deliver" && verdict != "drop", "row %d: %s to a worker", i+1, verdict)
	}
	delivered := verdicts["deliver"]
	verdicts["deliver"] -= r.summary.Copies
	for _, v := range []string{"deliver", "drop", "hold", "forward", "egress", "punt"} {
		require.Containsf(t, r.summary.Verdicts, v, "verdicts of the summary")
		assert.Equalf(t, verdicts[v], r.summary.Verdicts[v], "verdict %s: rows against summary", v)
		total += r.summary.Verdicts[v]
	}
	assert.Equal(t, r.summary.Input.Frames, total, "verdicts sum to the frames")
	for reason, n := range r.summary.Drops {
		assert.Equalf(t, reasons[reason], n, "drops %s: rows against summary", reason)
		delete(reasons, reason)
	}
	assert.Empty(t, reasons, "reasons that the summary lacks")
	packets := 0
	for _, w := range r.summary.Workers {
		packets += w.Packets
	}
	assert.Equal(t, delivered, packets, "packets of the workers against delivered rows")
}

// goldenCaptures lists the captures of testdata/pcap.
func goldenCaptures(t testing.TB) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/pcap/*.pcap*")
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all
}

// stem is the path of a capture without .pcap or .pcapng and what follows.
func stem(capture string) string {
	base, _, _ := strings.Cut(filepath.Base(capture), ".pcap")
	return filepath.Join(filepath.Dir(capture), base)
}

// goldenArgs are the arguments that a capture is replayed with.
func goldenArgs(capture string) []string {
	if config := stem(capture) + ".yaml"; exists(config) {
		return []string{"-c", config, capture}
	}
	return []string{capture}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func eachGolden(t *testing.T, f func(t *testing.T, capture string)) {
	for _, capture := range goldenCaptures(t) {
		t.Run(filepath.Base(stem(capture)), func(t *testing.T) {
			t.Parallel()
			f(t, capture)
		})
	}
}

// TestGolden: each capture gives the decisions and the summary stored beside it.
func TestGolden(t *testing.T) {
	eachGolden(t, func(t *testing.T, capture string) {
		got := replay(t, goldenArgs(capture)...)
		want, err := os.ReadFile(stem(capture) + ".tsv")
		require.NoError(t, err, "make golden writes it")
		require.Equal(t, string(want), string(got.tsv))
		stored, err := os.ReadFile(stem(capture) + ".json")
		require.NoError(t, err, "make golden writes it")
		var sum map[string]any
		require.NoError(t, json.Unmarshal(stored, &sum))
		for _, f := range timingFields {
			assert.NotContains(t, sum, f, "a golden summary has no timing fields")
		}
		assert.Equal(t, sum, got.raw)
		for _, golden := range []string{stem(capture) + ".tsv", stem(capture) + ".json"} {
			edemuxOK(t, append([]string{"replay", "--quiet", "--golden", golden}, goldenArgs(capture)...)...)
		}
	})
}

// TestGoldenAnyShape: lcores and bursts change nothing but the timing fields.
func TestGoldenAnyShape(t *testing.T) {
	eachGolden(t, func(t *testing.T, capture string) {
		want := replay(t, goldenArgs(capture)...)
		for _, lcores := range []int{1, 2, 4, 8} {
			for _, burst := range []int{1, 2, 3, 7, 64} {
				shape := fmt.Sprintf("--lcores %d --burst %d", lcores, burst)
				got := replay(t, append(strings.Fields(shape), goldenArgs(capture)...)...)
				require.Equal(t, string(want.tsv), string(got.tsv), shape)
				require.Equal(t, want.raw, got.raw, shape)
			}
		}
	})
}

// TestGoldenEarlyDemux: the switches change how a socket is found, never which.
func TestGoldenEarlyDemux(t *testing.T) {
	off := map[string][]string{ // the protocols that must not be found early
		"ip_early_demux=0":        {"6", "17"},
		"tcp_early_demux=0":       {"6"},
		"udp_early_demux=0":       {"17"},
		"early_demux_match=exact": nil,
	}
	eachGolden(t, func(t *testing.T, capture string) {
		want := replay(t, goldenArgs(capture)...)
		for set, protos := range off {
			got := replay(t, append([]string{"--set", set}, goldenArgs(capture)...)...)
			require.Len(t, got.rows, len(want.rows), set)
			for i := range got.rows {
				was, is := want.rows.cell(i, "path"), got.rows.cell(i, "path")
				if was != is {
					found := []string{"early", "established", "mcast"}
					assert.Subsetf(t, found, []string{was, is}, "%s: row %d: path", set, i+1)
				}
				assert.Falsef(t, is == "early" && slices.Contains(protos, got.rows.cell(i, "proto")),
					"%s: row %d is found early", set, i+1)
				got.rows[i][column("path")] = was
			}
			require.Equal(t, want.rows, got.rows, set)
			assert.Equal(t, want.summary.Workers, got.summary.Workers, set)
			assert.Equal(t, want.summary.Verdicts, got.summary.Verdicts, set)
			assert.Equal(t, want.summary.Drops, got.summary.Drops, set)
		}
	})
}

// TestGoldenDirection: on the cooked captures, which say what the host sent,
// egress is exactly that.
func TestGoldenDirection(t *testing.T) {
	const client = "192.0.2.1"
	for _, name := range []string{"any", "any-sll"} {
		r := replay(t, "testdata/pcap/"+name+".pcap")
		for i := range r.rows {
			sent := r.rows.cell(i, "saddr") == client && r.rows.cell(i, "daddr") != client
			assert.Equalf(t, sent, r.rows.cell(i, "verdict") == "egress", "%s: frame %d", name, i+1)
		}
	}
}

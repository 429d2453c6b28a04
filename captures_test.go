package edemux_test

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// capturesFolder is EDEMUX_CAPTURES: real captures, each with what tshark read
// in it. They are no part of the repository.
func capturesFolder(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("EDEMUX_CAPTURES")
	if dir == "" {
		dir = "../shared/pcap"
	}
	if !exists(filepath.Join(dir, "FILES.tsv")) {
		unavailable(t, "EDEMUX_CAPTURES, a folder of captures with FILES.tsv and NAME.expect.tsv")
	}
	return dir
}

// expectation is one row of a NAME.expect.tsv by column name.
type expectation map[string]string

// readTSV reads a table with a header line; lines that begin with # are
// comments, and cells hold any character but tab and newline.
func readTSV(t *testing.T, file string) []expectation {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	r := csv.NewReader(bytes.NewReader(raw))
	r.Comma, r.Comment, r.LazyQuotes, r.FieldsPerRecord = '\t', '#', true, -1
	records, err := r.ReadAll()
	require.NoError(t, err)
	var rows []expectation
	for _, rec := range records[1:] {
		row := expectation{}
		for i, cell := range rec {
			row[records[0][i]] = cell
		}
		rows = append(rows, row)
	}
	return rows
}

// How much of a row can be expected: everything; the values or a punt without
// them, because headers lie in between that are none of ours; only that the
// frame is counted, because the two readings of it differ.
type strictness int

const (
	held strictness = iota
	puntOrSame
	counted
)

// ours are the headers, in tshark's names, that come before an IP header we
// read, and what a frame without one may hold.
var ours = []string{"eth", "ethertype", "vlan", "ieee8021ad", "sll", "null", "raw", "ip", "ipv6", "arp", "llc", "data"}

func (e expectation) strictness() strictness {
	if e["bytes"] != "=" {
		return counted
	}
	for _, header := range strings.Split(e["l2path"], ":") {
		if !slices.Contains(ours, header) {
			return puntOrSame
		}
	}
	return held
}

// tuple is the expectation in the spelling of the decisions TSV.
func (e expectation) tuple() []string {
	cells := []string{strings.ReplaceAll(e["vlans"], ",", "."), e["ipver"], e["proto"],
		e["src"], e["sport"], e["dst"], e["dport"]}
	for i := range cells {
		if cells[i] == "" {
			cells[i] = "-"
		}
	}
	return cells
}

func (tb table) tuple(row int) []string {
	return tb[row][column("vlan") : column("dport")+1]
}

// linkTypePunts are the first headers of link types that we do not read.
var linkTypePunts = []string{"chdlc", "ppp"}

// compare holds one decision to its expectation.
func compare(t *testing.T, e expectation, tb table, row int) {
	t.Helper()
	frame, verdict, reason := e["frame"], tb.cell(row, "verdict"), tb.cell(row, "reason")
	first, _, _ := strings.Cut(e["l2path"], ":")
	if slices.Contains(linkTypePunts, first) {
		assert.Equalf(t, "punt LINKTYPE", verdict+" "+reason, "frame %s", frame)
	}
	if verdict == "egress" {
		assert.Equalf(t, "sll", first, "frame %s: every destination is local and the capture does not say that it left", frame)
	}
	switch e.strictness() {
	case held:
		if strings.Contains(e["flags"], "nohdr") {
			assert.Equalf(t, "drop", verdict, "frame %s: the IP header is unusable", frame)
			if tb.cell(row, "ipver") == "-" { // no version, or no header length, that there is
				return
			}
		}
		assert.Equalf(t, e.tuple(), tb.tuple(row), "frame %s: vlan ipver proto saddr sport daddr dport", frame)
	case puntOrSame:
		if verdict != "punt" || tb.cell(row, "ipver") != "-" {
			assert.Equalf(t, e.tuple(), tb.tuple(row), "frame %s: vlan ipver proto saddr sport daddr dport", frame)
		}
	}
}

// TestCaptures: the tuple columns equal the expectation frame by frame, every
// frame has one verdict, and neither lcores nor bursts change a byte.
func TestCaptures(t *testing.T) {
	dir := capturesFolder(t)
	for _, f := range readTSV(t, filepath.Join(dir, "FILES.tsv")) {
		t.Run(f["name"], func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(dir, f["name"])
			got := replay(t, "--local", "all", file)
			assert.Equal(t, f["tshark_pkts"], strconv.Itoa(got.summary.Input.Frames), "frames")

			want := readTSV(t, file+".expect.tsv")
			require.Len(t, got.rows, len(want)+got.summary.Copies)
			row := -1
			for i, e := range want {
				for row++; row > 0 && got.rows.cell(row, "frame") == got.rows.cell(row-1, "frame"); row++ {
					assert.Equal(t, got.rows.tuple(row-1), got.rows.tuple(row), "a copy for another socket")
				}
				require.Equal(t, strconv.Itoa(i+1), got.rows.cell(row, "frame"))
				compare(t, e, got.rows, row)
			}
			if f["tshark_error"] != "" {
				warned := edemuxOK(t, "replay", "--local", "all", file)
				assert.Regexp(t, `(?i)frame`, string(warned.stderr), "a damaged file is worth a warning")
			}
			again := edemuxOK(t, "replay", "--local", "all", "--lcores", "4", "--burst", "7", "--decisions", "-", file)
			require.True(t, bytes.Equal(got.tsv, again.stdout), "--lcores 4 --burst 7 decides differently")
		})
	}
}

// TestCapturesWithoutConfiguration: what `edemux replay FILE` does to any file.
func TestCapturesWithoutConfiguration(t *testing.T) {
	dir := capturesFolder(t)
	for _, f := range readTSV(t, filepath.Join(dir, "FILES.tsv")) {
		t.Run(f["name"], func(t *testing.T) {
			t.Parallel()
			got := replay(t, filepath.Join(dir, f["name"]))
			assert.Equal(t, f["tshark_pkts"], strconv.Itoa(got.summary.Input.Frames))
		})
	}
}

// TestCapturesCut: a capture that ends anywhere is read up to there, never a
// crash. Exit code 2 is for what holds no file header.
func TestCapturesCut(t *testing.T) {
	dir := capturesFolder(t)
	for _, name := range []string{"pcapplusplus_sll2.pcap", "gopacket_le_test006.pcapng", "arkime_bigendian.pcap"} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		cut := filepath.Join(t.TempDir(), name)
		step := max(1, len(raw)/40)
		for n := 0; n < len(raw); n += step {
			require.NoError(t, os.WriteFile(cut, raw[:n], 0o600))
			r := edemux(t, "replay", "--local", "all", "--quiet", cut)
			if n >= 28 { // the section header of pcapng has 28 bytes, the header of pcap 24
				assert.Equalf(t, 0, r.code, "%s cut to %d bytes: %s", name, n, r.stderr)
			}
			if n < 4 {
				assert.Equalf(t, 2, r.code, "%s cut to %d bytes", name, n)
			}
		}
	}
}

package capture

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// capturesDir is the folder of real captures: EDEMUX_CAPTURES, else shared/pcap
// beside the repository.
func capturesDir(t testing.TB) string {
	dir := os.Getenv("EDEMUX_CAPTURES")
	if dir == "" {
		dir = filepath.Join(repoRoot(t), "..", "shared", "pcap")
	}
	if _, err := os.Stat(filepath.Join(dir, "FILES.tsv")); err != nil {
		if os.Getenv("EDEMUX_STRICT") == "1" {
			t.Fatalf("no real captures: %v", err)
		}
		t.Skipf("no real captures: %v", err)
	}
	return dir
}

func repoRoot(t testing.TB) string {
	dir, err := os.Getwd()
	require.NoError(t, err)
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	t.Fatal("no go.mod above the test")
	return ""
}

// table reads a TSV with a header line; lines that start with # are no rows.
func table(t testing.TB, path string) []map[string]string {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	var head []string
	var rows []map[string]string
	for sc := bufio.NewScanner(f); sc.Scan(); {
		cells := strings.Split(sc.Text(), "\t")
		if head == nil {
			head = cells
			continue
		}
		if strings.HasPrefix(sc.Text(), "#") {
			continue
		}
		row := make(map[string]string, len(head))
		for i, c := range cells {
			row[head[i]] = c
		}
		rows = append(rows, row)
	}
	return rows
}

// TestRealCaptures holds the reader to what tshark and libpcap read. tshark
// reads all these files; libpcap stops at an interface whose link type or snap
// length is not that of the first, and does not unpack gzip.
func TestRealCaptures(t *testing.T) {
	dir := capturesDir(t)
	files := table(t, filepath.Join(dir, "FILES.tsv"))
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(file["name"], func(t *testing.T) {
			r, err := Open(filepath.Join(dir, file["name"]), Options{})
			require.NoError(t, err)
			defer r.Close()
			fs := readAll(t, r)
			require.Equal(t, file["tshark_pkts"], strconv.Itoa(len(fs)))
			tell := file["libpcap_error"]
			if !strings.Contains(tell, "an interface has a") && !strings.Contains(tell, "unknown file format") {
				require.Equal(t, file["libpcap_pkts"], strconv.Itoa(len(fs)))
			}
			damage := 0
			for _, w := range r.Warnings() {
				if !strings.HasPrefix(w.What, "link type ") {
					damage++
					require.Equal(t, uint64(len(fs)+1), w.Frame)
				}
			}
			require.Equal(t, file["tshark_error"] != "", damage == 1, "%v", r.Warnings())
			requireLengths(t, fs, filepath.Join(dir, file["name"]+".expect.tsv"))
			require.NoError(t, r.Rewind())
			require.Equal(t, fs, readAll(t, r), "a second pass")
		})
	}
}

func requireLengths(t *testing.T, fs []got, expect string) {
	rows := table(t, expect)
	require.Len(t, rows, len(fs))
	for i, row := range rows {
		require.Equal(t, row["caplen"], strconv.Itoa(len(fs[i].Data)), "frame %d", i+1)
		require.Equal(t, row["len"], strconv.FormatUint(uint64(fs[i].WireLen), 10), "frame %d", i+1)
	}
}

// Truncation of real files at many places: never more than one warning of
// damage, never other frames.
func TestRealCapturesCut(t *testing.T) {
	dir := capturesDir(t)
	for _, file := range table(t, filepath.Join(dir, "FILES.tsv")) {
		b, err := os.ReadFile(filepath.Join(dir, file["name"]))
		require.NoError(t, err)
		if len(b) > 100_000 || len(b) < 100 {
			continue
		}
		whole, _ := readBytes(t, b)
		for n := 30; n < len(b); n += 1 + len(b)/13 {
			r, err := NewReader(strings.NewReader(string(b[:n])), file["name"], Options{})
			if err != nil {
				require.ErrorIs(t, err, ErrNotCapture)
				continue
			}
			fs := readAll(t, r)
			require.LessOrEqual(t, len(fs), len(whole))
			for i := range fs {
				require.Equal(t, whole[i], fs[i])
			}
			r.Close()
		}
	}
}

// All real captures merged: every frame comes once, and within an input in file
// order.
func TestRealCapturesMerged(t *testing.T) {
	dir := capturesDir(t)
	var rs []*Reader
	want := 0
	for _, file := range table(t, filepath.Join(dir, "FILES.tsv")) {
		r, err := Open(filepath.Join(dir, file["name"]), Options{})
		require.NoError(t, err)
		rs = append(rs, r)
		n, err := strconv.Atoi(file["tshark_pkts"])
		require.NoError(t, err)
		want += n
	}
	m := NewMerge(rs...)
	defer m.Close()
	b := NewBatch(64, 0)
	seen, next := 0, make([]uint64, len(rs))
	for {
		n, err := m.Fill(b)
		if n == 0 {
			require.ErrorContains(t, err, "EOF")
			break
		}
		for _, o := range b.Origins {
			next[o.Input]++
			require.Equal(t, next[o.Input], o.Frame)
		}
		seen += n
	}
	require.Equal(t, want, seen)
}

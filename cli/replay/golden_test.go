package replay

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edemux/cli/exit"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// compareTo runs a golden comparison of got, written in pieces, with want.
func compareTo(t *testing.T, name, want, got string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
	g, err := openGolden(file, false)
	require.NoError(t, err)
	for len(got) > 0 {
		n := min(7, len(got))
		_, err := g.Write([]byte(got[:n]))
		require.NoError(t, err)
		got = got[n:]
	}
	var out strings.Builder
	err = g.finish(&out)
	return out.String(), err
}

func row(frame, worker string) string {
	return frame + "\t1\teth0\tdefault\t-\t4\t17\t192.0.2.1\t4000\t198.51.100.2\t53\tdeliver\t-\tlistener\tdns\t" + worker + "\n"
}

func TestGoldenEqual(t *testing.T) {
	text := Header + "\n" + row("1", "dns/0") + row("2", "dns/1")
	out, err := compareTo(t, "a.tsv", text, text)
	require.NoError(t, err)
	assert.Empty(t, out)
}

func TestGoldenNamesFrameAndColumn(t *testing.T) {
	out, err := compareTo(t, "a.tsv", Header+"\n"+row("1", "dns/0")+row("2", "dns/1"), Header+"\n"+row("1", "dns/0")+row("2", "dns/2"))
	assert.Equal(t, "line 3: frame 2 (192.0.2.1:4000 > 198.51.100.2:53): worker dns/1 -> dns/2\n", out)
	var e *exit.Error
	require.True(t, errors.As(err, &e))
	assert.Equal(t, exit.Mismatch, e.Code)
}

func TestGoldenMissingAndFurtherLines(t *testing.T) {
	one, two := Header+"\n"+row("1", "dns/0"), Header+"\n"+row("1", "dns/0")+row("2", "dns/0")
	out, err := compareTo(t, "a.tsv", two, one)
	require.Error(t, err)
	assert.Contains(t, out, "+ (no line)")
	out, err = compareTo(t, "a.tsv", one, two)
	require.Error(t, err)
	assert.Contains(t, out, "- (no line)")
}

func TestGoldenBoundsItsOutput(t *testing.T) {
	var want, got strings.Builder
	for range 50 {
		want.WriteString(row("1", "dns/0"))
		got.WriteString(row("1", "dns/1"))
	}
	out, err := compareTo(t, "a.tsv", want.String(), got.String())
	require.ErrorContains(t, err, "50 lines differ")
	assert.Equal(t, shownDifferences+1, strings.Count(out, "\n"))
}

func TestGoldenJSONShowsBothLines(t *testing.T) {
	out, err := compareTo(t, "a.json", "{\n  \"copies\": 0\n}\n", "{\n  \"copies\": 1\n}\n")
	require.Error(t, err)
	assert.Equal(t, "line 2:\n  -   \"copies\": 0\n  +   \"copies\": 1\n", out)
}

func TestGoldenUpdateReplacesOnlyWhenDone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.tsv")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o644))
	g, err := openGolden(file, true)
	require.NoError(t, err)
	_, err = g.Write([]byte("new"))
	require.NoError(t, err)
	g.abandon()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "old", string(b))

	g, err = openGolden(file, true)
	require.NoError(t, err)
	_, err = g.Write([]byte("new"))
	require.NoError(t, err)
	require.NoError(t, g.finish(nil))
	b, err = os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "new", string(b))
	left, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*"))
	require.NoError(t, err)
	assert.Len(t, left, 1, "no temporary file stays")
}

func TestGoldenMustExist(t *testing.T) {
	_, err := openGolden(filepath.Join(t.TempDir(), "none.tsv"), false)
	require.ErrorContains(t, err, "make it with --update")
}

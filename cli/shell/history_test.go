package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHistoryBound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "history")
	h, err := openHistory(path)
	require.NoError(t, err)
	for i := range 2*historyMax + 1 {
		h.Add(fmt.Sprintf("line %d", i))
	}
	require.Equal(t, historyMax, h.Len())
	require.Equal(t, "line 2000", h.At(0))
	require.Equal(t, "line 1001", h.At(historyMax-1))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, 2*historyMax+1, strings.Count(string(text), "\n"), "appended only")

	h, err = openHistory(path) // cuts the file
	require.NoError(t, err)
	require.Equal(t, historyMax, h.Len())
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, historyMax, strings.Count(string(text), "\n"))
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), st.Mode().Perm())
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	require.NoError(t, err)
	require.Len(t, left, 1, "no temporary file stays")
}

func TestHistoryKeepsItself(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	require.NoError(t, os.WriteFile(path, []byte("old\n"), 0o666))
	h, err := openHistory(path)
	require.NoError(t, err)
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), st.Mode().Perm(), "others could read it before")
	for _, l := range []string{"", "  ", " secret", "old", "a\nb\x1b", strings.Repeat("x", historyLineMax+1), "c", "c"} {
		h.Add(l)
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "old\na b \nc\n", string(text))
	i, ok := h.search("b", 0)
	require.True(t, ok)
	require.Equal(t, 1, i)
	_, ok = h.search("b", 2)
	require.False(t, ok)
}

// Sessions side by side add to one file and lose nothing.
func TestHistoryTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	var wg sync.WaitGroup
	for s := range 4 {
		h, err := openHistory(path)
		require.NoError(t, err)
		wg.Go(func() {
			for i := range 50 {
				h.Add(fmt.Sprintf("session %d line %d", s, i))
			}
		})
	}
	wg.Wait()
	h, err := openHistory(path)
	require.NoError(t, err)
	require.Equal(t, 200, h.Len())
}

// A history that cannot be kept is no reason not to work.
func TestHistoryNowhere(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, path := range []string{filepath.Join(file, "history"), dir, "/proc/nothing/history"} {
		h, err := openHistory(path)
		require.Error(t, err, path)
		h.Add("line")
		require.Equal(t, "line", h.At(0))
	}
	h, err := openHistory("")
	require.NoError(t, err)
	h.Add("line")
	require.Equal(t, 1, h.Len())

	require.NoError(t, os.WriteFile(file, []byte("good\n"+strings.Repeat("x", 4*historyLineMax)+"\nlost\n"), 0o600))
	h, err = openHistory(file)
	require.NoError(t, err)
	require.Equal(t, "good", h.At(0))
}

func TestHistoryPath(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/state")
	require.Equal(t, "/state/edemux/history", historyPath())
	t.Setenv("XDG_STATE_HOME", "relative") // the specification: ignore it
	t.Setenv("HOME", "/home")
	require.Equal(t, "/home/.local/state/edemux/history", historyPath())
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "")
	require.Empty(t, historyPath())
}

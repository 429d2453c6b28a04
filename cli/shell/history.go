package shell

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of the history: entries kept in the file and in memory, and bytes of
// one entry.
const (
	historyMax     = 1000
	historyLineMax = 4096
)

// history is the lines that were typed, kept in a file of mode 0600 across
// sessions. It implements term.History. Entries are appended one at a time, so
// that sessions side by side do not erase each other's; the file is cut when a
// session opens it at twice the bound. One goroutine.
type history struct {
	lines []string // oldest first
	path  string   // "": memory only
}

// historyPath is where the history lives, "" when there is no home.
func historyPath() string {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil || home == "" {
			return ""
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "edemux", "history")
}

// openHistory reads path and makes its folder. The error says why the history
// will not outlive the session; the history is usable all the same.
func openHistory(path string) (*history, error) {
	h := &history{}
	if path == "" {
		return h, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return h, fmt.Errorf("history: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return h, fmt.Errorf("history: %w", err)
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return h, fmt.Errorf("history: %s: not a regular file", path)
	}
	if err := f.Chmod(0o600); err != nil {
		return h, fmt.Errorf("history: %w", err)
	}
	h.path = path
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 2*historyLineMax)
	n := 0
	for sc.Scan() {
		n++
		h.remember(sc.Text())
	}
	if err := sc.Err(); err != nil || n > 2*historyMax {
		return h, h.rewrite()
	}
	return h, nil
}

// remember adds a line to the memory, within the bound.
func (h *history) remember(line string) {
	if len(h.lines) == historyMax {
		h.lines = slices.Delete(h.lines, 0, 1)
	}
	h.lines = append(h.lines, line)
}

// rewrite replaces the file by what is in memory.
func (h *history) rewrite() error {
	tmp, err := os.CreateTemp(filepath.Dir(h.path), ".history-*")
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	defer os.Remove(tmp.Name())
	text := strings.Join(h.lines, "\n")
	if text != "" {
		text += "\n"
	}
	_, err = tmp.WriteString(text)
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp.Name(), h.path) // CreateTemp's mode is 0600
	}
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return nil
}

// Add keeps a line unless it is empty, begins with a blank or repeats the last
// one. A file that cannot be written any more loses the line, nothing else.
func (h *history) Add(line string) {
	line = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, line)
	switch {
	case strings.TrimSpace(line) == "", line[0] == ' ', len(line) > historyLineMax:
		return
	case len(h.lines) > 0 && h.lines[len(h.lines)-1] == line:
		return
	}
	h.remember(line)
	if h.path == "" {
		return
	}
	f, err := os.OpenFile(h.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.WriteString(line + "\n")
}

// Len is how many entries there are.
func (h *history) Len() int { return len(h.lines) }

// At returns an entry, 0 the newest.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }

// search returns the index of the newest entry from at on that contains text.
func (h *history) search(text string, at int) (int, bool) {
	for i := at; i < h.Len(); i++ {
		if strings.Contains(h.At(i), text) {
			return i, true
		}
	}
	return 0, false
}

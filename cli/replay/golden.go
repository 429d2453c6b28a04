package replay

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"edemux/cli/exit"
)

// shownDifferences is how many differing lines a golden mismatch prints.
const shownDifferences = 10

// golden compares what is written to it with a file, line by line as it comes,
// so that a capture of any size needs no memory; with update it writes the file
// instead, in place of the old one only when all went well.
type golden struct {
	file   string
	tsv    bool
	update *os.File
	want   *bufio.Reader
	closer io.Closer
	rest   []byte // of an unfinished line
	line   int
	differ int
	text   strings.Builder
}

func openGolden(file string, update bool) (*golden, error) {
	g := &golden{file: file, tsv: strings.HasSuffix(file, ".tsv")}
	if update {
		f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
		g.update = f
		return g, err
	}
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, exit.Usagef("replay: golden file: %s: does not exist: make it with --update", file)
	}
	if err != nil {
		return nil, err
	}
	g.want, g.closer = bufio.NewReaderSize(f, 1<<16), f
	return g, nil
}

func (g *golden) Write(p []byte) (int, error) {
	if g.update != nil {
		return g.update.Write(p)
	}
	n := len(p)
	if len(g.rest) > 0 {
		p = append(g.rest, p...)
	}
	for {
		line, rest, found := bytes.Cut(p, []byte{'\n'})
		if !found {
			g.rest = append([]byte(nil), p...)
			return n, nil
		}
		g.compare(string(line), true)
		p = rest
	}
}

// compare checks the next line of the file; got is absent past the end.
func (g *golden) compare(got string, have bool) (more bool) {
	want, err := g.want.ReadString('\n')
	more = err == nil || want != ""
	want = strings.TrimSuffix(want, "\n")
	g.line++
	if !more && !have || more && have && want == got {
		return more
	}
	if g.differ++; g.differ > shownDifferences {
		return more
	}
	if g.tsv {
		if line, ok := columnDifference(want, got); ok {
			fmt.Fprintf(&g.text, "line %d: %s\n", g.line, line)
			return more
		}
	}
	fmt.Fprintf(&g.text, "line %d:\n  - %s\n  + %s\n", g.line, orNone(want), orNone(got))
	return more
}

// finish ends the comparison: the difference goes to out and the error carries
// exit code 3.
func (g *golden) finish(out io.Writer) error {
	if g.update != nil {
		err := errors.Join(g.update.Chmod(0o644), g.update.Close())
		if err == nil {
			err = os.Rename(g.update.Name(), g.file)
		}
		return err
	}
	defer g.closer.Close()
	if len(g.rest) > 0 {
		g.compare(string(g.rest), true)
	}
	for g.compare("", false) {
	}
	if g.differ == 0 {
		return nil
	}
	if g.differ > shownDifferences {
		fmt.Fprintf(&g.text, "... and %d more\n", g.differ-shownDifferences)
	}
	if _, err := io.WriteString(out, g.text.String()); err != nil {
		return err
	}
	return exit.Mismatchf("replay: golden file: %s: %d lines differ (accept them with --update)", g.file, g.differ)
}

// abandon removes what an update wrote so far.
func (g *golden) abandon() {
	if g.update != nil {
		g.update.Close()
		os.Remove(g.update.Name())
	} else {
		g.closer.Close()
	}
}

// columnDifference says `frame 12 tcp: worker web/1 -> web/2` for two lines
// about the same frame.
func columnDifference(want, got string) (string, bool) {
	columns := strings.Split(Header, "\t")
	w, g := strings.Split(want, "\t"), strings.Split(got, "\t")
	if len(w) != len(columns) || len(g) != len(columns) || w[0] != g[0] {
		return "", false
	}
	var changes []string
	for i := range columns {
		if w[i] != g[i] {
			changes = append(changes, fmt.Sprintf("%s %s -> %s", columns[i], w[i], g[i]))
		}
	}
	return fmt.Sprintf("frame %s (%s:%s > %s:%s): %s", g[0], g[7], g[8], g[9], g[10], strings.Join(changes, ", ")), true
}

func orNone(s string) string {
	if s == "" {
		return "(no line)"
	}
	return s
}

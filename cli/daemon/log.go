package daemon

import (
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"
)

// newLogger logs as text on a terminal and as JSON elsewhere, unless told.
func newLogger(o *Options) *slog.Logger {
	if o.Log == "text" || o.Log != "json" && isTerminal(o.Stderr) {
		return slog.New(slog.NewTextHandler(o.Stderr, nil))
	}
	return slog.New(slog.NewJSONHandler(o.Stderr, nil))
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

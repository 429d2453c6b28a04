package replay

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/term"
)

// startProgress shows how far the replay is, on a terminal only, and returns
// what ends and wipes the line.
func startProgress(o *Options, s *source, frames *atomic.Int64) (stop func()) {
	f, ok := o.Stderr.(*os.File)
	if !ok || o.Quiet || !term.IsTerminal(int(f.Fd())) {
		return func() {}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(200 * time.Millisecond)
		defer t.Stop()
		start := time.Now()
		for {
			select {
			case <-t.C:
				progressLine(f, s.progress(), frames.Load(), time.Since(start))
			case <-end:
				fmt.Fprint(f, "\r\x1b[K")
				return
			}
		}
	}()
	return func() { close(end); <-ended }
}

// progressLine prints `[#####     ]  50%  1234567 frames  2.34 M/s`.
func progressLine(w io.Writer, share float64, frames int64, elapsed time.Duration) {
	bar := ""
	if share >= 0 {
		const width = 24
		full := int(share * width)
		bar = fmt.Sprintf("[%-*s] %3.0f%%  ", width, "########################"[:full], share*100)
	}
	fmt.Fprintf(w, "\r\x1b[K%s%d frames  %.2f M/s", bar, frames, float64(frames)/elapsed.Seconds()/1e6)
}

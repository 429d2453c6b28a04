package top

import (
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"edemux/cli/control"
	"edemux/cli/render"
)

// loop is a running `edemux top`.
type loop struct {
	*render.Top
	daemon *control.Client
	ctx    context.Context
	out    *os.File
	events chan event
	keys   chan string // closed at the end of input
	asked  bool        // a snapshot is on its way
	next   *time.Timer
	lost   bool      // the last snapshot did not come
	said   time.Time // when the message was set
}

// event is an answer of the daemon.
type event struct {
	snapshot *control.Snapshot
	changed  *control.Changed
	err      error
	tick     bool // answers tick, not a key
}

// messageKept is how long a message stands in for the list of views.
const messageKept = 5 * time.Second

func (l *loop) run(signals <-chan os.Signal) error {
	l.next = time.NewTimer(l.Interval)
	defer l.next.Stop()
	for {
		if err := l.draw(); err != nil {
			return err
		}
		select {
		case key, ok := <-l.keys:
			if !ok || l.press(key) {
				return nil
			}
		case s := <-signals:
			if s != syscall.SIGWINCH {
				return nil
			}
		case <-l.next.C:
			l.tick()
		case e := <-l.events:
			l.answer(e)
		}
	}
}

func (l *loop) draw() error {
	if !l.said.IsZero() && time.Since(l.said) > messageKept {
		l.Message, l.said = "", time.Time{}
	}
	width, height := size(l.out)
	var b strings.Builder
	b.WriteString("\x1b[H")
	for i, line := range l.Lines(width, height) {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(line)
		if utf8.RuneCountInString(line) < width { // at the edge it would erase the last character
			b.WriteString("\x1b[K")
		}
	}
	_, err := io.WriteString(l.out, b.String())
	return err
}

func (l *loop) say(text string) { l.Message, l.said = text, time.Now() }

// tick asks for a snapshot unless one is asked for or the picture is held.
func (l *loop) tick() {
	l.next.Reset(l.Interval)
	if l.asked || l.Paused {
		return
	}
	l.asked = true
	go func() {
		ctx, cancel := context.WithTimeout(l.ctx, 10*time.Second)
		defer cancel()
		s, err := l.daemon.Snapshot(ctx, 0)
		l.send(event{snapshot: s, err: err, tick: true})
	}()
}

func (l *loop) send(e event) {
	select {
	case l.events <- e:
	case <-l.ctx.Done():
	}
}

func (l *loop) answer(e event) {
	if e.tick {
		l.asked = false
		if l.lost && e.err == nil {
			l.say("the daemon answers again")
		}
		l.lost = e.err != nil
	}
	switch {
	case e.err != nil:
		text := strings.ReplaceAll(e.err.Error(), "\n", "; ")
		if e.tick {
			text += "; trying again"
		}
		l.say(text)
	case e.changed != nil:
		l.say(e.changed.Did)
	case e.snapshot.Snapshot != l.Cur.Snapshot || !e.snapshot.Time.Equal(l.Cur.Time):
		l.Prev, l.Cur = l.Cur, e.snapshot
	}
}

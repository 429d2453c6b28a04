package command

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Event is one command of a script with its moment.
type Event struct {
	Frame   uint64        // before this frame of the merged input, from 1; 0: Offset counts
	Offset  time.Duration // capture time since the first frame
	File    string        // the script's name
	Line    int           // in it, from 1
	Text    string        // the command
	Command Command
}

// Place is file:line, for messages about a command that failed.
func (e *Event) Place() string { return e.File + ":" + strconv.Itoa(e.Line) }

// ScriptError is a mistake in a script.
type ScriptError struct {
	File      string
	Line, Col int // from 1, in characters
	Msg       string
	err       *Error
}

// Error is one line.
func (e *ScriptError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg)
}

// Source is the offending line and marks below it.
func (e *ScriptError) Source() string { return e.err.Caret() }

// Script is what a replay does besides reading packets. Its lines are
//
//	#120 close b                     before frame 120
//	@+1.5s early-demux udp off red   1.5 s of capture time after the first frame
//	# anything else after a #        a comment, if no digit follows
//
// in any order; commands of one moment run in the order of the file.
// Immutable; each replay walks it with a Cursor of its own.
type Script struct {
	frames, times []Event // sorted, stable
}

// ParseScript reads a script; file is its name in errors (*ScriptError). The
// first mistake ends it.
func ParseScript(file string, text []byte) (*Script, error) {
	s := &Script{}
	n := 0
	for line := range strings.SplitSeq(string(text), "\n") {
		n++
		line = strings.TrimRight(line, " \t\r")
		ev, err := parseEvent(line)
		if err != nil {
			return nil, &ScriptError{File: file, Line: n, Col: err.Col(), Msg: err.Msg, err: err}
		}
		if ev == nil {
			continue
		}
		ev.File, ev.Line = file, n
		if ev.Frame > 0 {
			s.frames = append(s.frames, *ev)
		} else {
			s.times = append(s.times, *ev)
		}
	}
	sort.SliceStable(s.frames, func(i, j int) bool { return s.frames[i].Frame < s.frames[j].Frame })
	sort.SliceStable(s.times, func(i, j int) bool { return s.times[i].Offset < s.times[j].Offset })
	return s, nil
}

// parseEvent returns nil for an empty line and for a comment.
func parseEvent(line string) (*Event, *Error) {
	start := len(line) - len(strings.TrimLeft(line, " \t"))
	body := line[start:]
	if body == "" || body[0] == '#' && (len(body) == 1 || body[1] < '0' || body[1] > '9') {
		return nil, nil
	}
	end := start + strings.IndexAny(body+" ", " \t")
	when := token{text: line[start:end], pos: start, end: end}
	ev := &Event{}
	switch {
	case body[0] == '#':
		n, err := strconv.ParseUint(when.text[1:], 10, 62)
		if err != nil || n == 0 {
			return nil, fail(line, when, "%s: want a frame number from 1, as in #120", when.text)
		}
		ev.Frame = n
	case strings.HasPrefix(body, "@"):
		d, msg := parseAt(when.text)
		if msg != "" {
			return nil, fail(line, when, "%s: %s", when.text, msg)
		}
		ev.Offset = d
	default:
		return nil, fail(line, when, "want #FRAME or @+TIME before the command, or # and a blank for a comment")
	}
	cmd, err := parseScriptCommand(line, end)
	if err != nil {
		return nil, err
	}
	ev.Command, ev.Text = cmd, strings.TrimSpace(line[end:])
	return ev, nil
}

func parseAt(s string) (time.Duration, string) {
	rest, ok := strings.CutPrefix(s, "@+")
	if !ok {
		return 0, "want @+TIME, counted from the first frame, as in @+1.5s"
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || strings.HasPrefix(rest, "+") {
		if _, err := strconv.ParseFloat(rest, 64); err == nil && rest[0] != '-' && rest[0] != '+' {
			return 0, "the time has no unit: write @+" + rest + "s"
		}
		return 0, "want a time such as @+1.5s or @+200ms"
	}
	return d, ""
}

// parseScriptCommand parses the command from byte from of line.
func parseScriptCommand(line string, from int) (Command, *Error) {
	toks := lex(strings.Repeat(" ", from) + line[from:])
	if len(toks) == 0 {
		return nil, fail(line, endOf(line), "want a command")
	}
	for _, t := range toks {
		switch {
		case t.open:
			return nil, fail(line, t, "%s is not closed", opener(line[t.pos]))
		case t.text == "|" && t.end-t.pos == 1:
			return nil, fail(line, t, "`|` belongs to the shell")
		}
	}
	if spec, _, err := find(line, toks, InCtl|InShell); err == nil && spec.Where&InScript == 0 {
		return nil, fail(line, toks[0], "%s is not for scripts: want %s", strings.Join(spec.Path, " "), strings.Join(wordsAt(specs(InScript), 0), ", "))
	}
	cmd, err := parseIn(line, toks, InScript)
	if err != nil {
		return nil, err
	}
	switch c := cmd.(type) {
	case EarlyDemux:
		if c.On == nil {
			return nil, fail(line, endOf(line), "early-demux: want on or off in a script")
		}
	case Sysctl:
		if !c.Set {
			return nil, fail(line, endOf(line), "sysctl: want NAME=VALUE in a script")
		}
	}
	return cmd, nil
}

func parseIn(line string, toks []token, where Where) (Command, *Error) {
	spec, n, err := find(line, toks, where)
	if err != nil {
		return nil, asError(err)
	}
	m, err := lay(line, toks, spec, n)
	if err != nil {
		return nil, asError(err)
	}
	if t, ok := m.flags["json"]; ok {
		return nil, fail(line, t, "--json: nothing is printed in a script")
	}
	cmd, err := spec.build(m)
	return cmd, asError(err)
}

// asError: every error of this package is an *Error.
func asError(err error) *Error {
	if err == nil {
		return nil
	}
	return err.(*Error)
}

// Len is the number of commands.
func (s *Script) Len() int {
	if s == nil {
		return 0
	}
	return len(s.frames) + len(s.times)
}

// Events are all commands in the order of the file.
func (s *Script) Events() []Event {
	if s == nil {
		return nil
	}
	out := append(append([]Event(nil), s.frames...), s.times...)
	sort.Slice(out, func(i, j int) bool { return out[i].Line < out[j].Line })
	return out
}

// Cursor walks a script along one replay. The zero Cursor has no events.
type Cursor struct{ frames, times []Event }

// Cursor starts at the beginning. s may be nil.
func (s *Script) Cursor() Cursor {
	if s == nil {
		return Cursor{}
	}
	return Cursor{s.frames, s.times}
}

// Due reports whether Next would return an event: cheap enough for each frame.
func (c *Cursor) Due(frame uint64, since time.Duration) bool {
	return len(c.frames) > 0 && c.frames[0].Frame <= frame || len(c.times) > 0 && c.times[0].Offset <= since
}

// Next returns the next command to run before the given frame, which comes
// since after the first one, or nil. What belongs to an earlier time comes
// first, then the rest in the order of the file. A frame that the replay
// leaves out (--frames, --filter) lets its commands run before the next one.
func (c *Cursor) Next(frame uint64, since time.Duration) *Event {
	byFrame := len(c.frames) > 0 && c.frames[0].Frame <= frame
	byTime := len(c.times) > 0 && c.times[0].Offset <= since
	if byFrame && byTime {
		byTime = c.times[0].Offset < since || c.times[0].Line < c.frames[0].Line
		byFrame = !byTime
	}
	switch {
	case byTime:
		ev := &c.times[0]
		c.times = c.times[1:]
		return ev
	case byFrame:
		ev := &c.frames[0]
		c.frames = c.frames[1:]
		return ev
	}
	return nil
}

// Left are the commands that have not run: after the last frame, those whose
// moment never came.
func (c *Cursor) Left() []Event {
	s := Script{c.frames, c.times}
	return s.Events()
}

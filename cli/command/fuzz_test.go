package command

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzCommand(f *testing.F) {
	for i := range Table {
		for _, e := range Table[i].Examples {
			f.Add(e)
		}
	}
	for _, s := range []string{
		"watch 1 show flows --filter 'udp || tcp' | match a | json", "bind {a: 'x''}', b: [\"\\\"]\"]}", "early-demux vrf udp",
		"sysctl ip_local_port_range=1 2 red", "\\", "'", "| |", "{", "--", "show flows --filter=\xff", "capture (((", "close \"a b\"c",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		l, err := ParseLine(line)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Pos < 0 || e.Len < 0 || e.Pos+e.Len > len(e.Line) || e.Line != line {
				t.Fatalf("bad error %#v", err)
			}
			_, _ = e.Caret(), e.Error()
		} else if l.Command != nil {
			again, err := Parse(l.Text)
			if err != nil {
				t.Fatalf("%q: its command %q does not parse: %v", line, l.Text, err)
			}
			_ = again
		}
		for _, w := range []Where{InCtl | InShell, InScript} {
			start, words := Complete(line, w, objects)
			if start < 0 || start > len(line) || strings.Join(words, "") == "" && len(words) > 0 {
				t.Fatalf("%q: start %d, words %q", line, start, words)
			}
			Question(line, w, objects)
		}
		if utf8.ValidString(line) {
			if toks := lex("x " + Quote(line)); len(toks) != 2 || toks[1].text != line {
				t.Fatalf("%q quoted reads back as %+v", line, toks)
			}
		}
	})
}

func FuzzScript(f *testing.F) {
	f.Add(sample)
	for _, s := range []string{"#1 close b", "@+1.5s early-demux udp off red", "# c\n\n#x", "@+1", "#18446744073709551616 close b", "@+9999999h close b", "#1\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseScript("f", []byte(text))
		if err != nil {
			var e *ScriptError
			if !errors.As(err, &e) || e.Line < 1 || e.Col < 1 || e.Col > len([]rune(text))+1 {
				t.Fatalf("bad error %#v", err)
			}
			_, _ = e.Source(), e.Error()
			return
		}
		evs := s.Events()
		if len(evs) != s.Len() {
			t.Fatal("events lost")
		}
		c := s.Cursor()
		n := 0
		for c.Due(1<<62, 1<<62) {
			ev := c.Next(1<<62, 1<<62)
			if ev.Command == nil || ev.Line < 1 {
				t.Fatalf("bad event %+v", ev)
			}
			n++
		}
		if n+len(c.Left()) != len(evs) {
			t.Fatal("cursor lost events")
		}
	})
}

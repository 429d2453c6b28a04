package shell

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"edemux/cli/command"
)

// watch repeats a command in place until ctx ends, which is no error. What the
// daemon refuses, or that it does not answer, is shown and tried again.
func (s *session) watch(ctx context.Context, line *command.Line) error {
	if !repeatable(line.Command) {
		return fmt.Errorf("watch repeats what shows something: not %q", line.Text)
	}
	tick := time.NewTicker(line.Watch)
	defer tick.Stop()
	_, _ = io.WriteString(s.out, "\x1b[2J")
	for {
		var b strings.Builder
		if err := s.print(ctx, line, &b); err != nil {
			if ctx.Err() != nil {
				break
			}
			fmt.Fprintf(&b, "edemux: %v\n", err)
		}
		width, height := terminalSize(int(s.term.out.Fd()))
		title := fmt.Sprintf("every %v: %s (Ctrl-C stops)  %s", line.Watch, line.Text, time.Now().Format("15:04:05"))
		if _, err := io.WriteString(s.out, screen(title, b.String(), width, height)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
			continue
		}
		break
	}
	s.term.say("\n")
	return nil
}

// repeatable: commands that change nothing and write no file.
func repeatable(c command.Command) bool {
	switch c := c.(type) {
	case command.Show, command.Explain:
		return true
	case command.EarlyDemux:
		return c.On == nil
	case command.Sysctl:
		return !c.Set
	}
	return false
}

// screen draws a title and text over the whole terminal, without a line more
// than it has. The cursor ends below the text.
func screen(title, text string, width, height int) string {
	lines := append([]string{title}, strings.Split(strings.TrimRight(text, "\n"), "\n")...)
	if room := height - 1; len(lines) > room {
		left := len(lines) - room + 1
		lines = append(lines[:max(1, room-1)], fmt.Sprintf("... %d more lines: make the terminal higher, or use | match", left))
	}
	var b strings.Builder
	b.WriteString("\x1b[H")
	for _, l := range lines {
		b.WriteString(cut(l, width))
		if utf8.RuneCountInString(l) < width { // at the edge it would erase the last character
			b.WriteString("\x1b[K")
		}
		b.WriteString("\n")
	}
	b.WriteString("\x1b[J")
	return b.String()
}

// cut shortens a line to width columns.
func cut(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:max(0, width)])
}

package command

import (
	"strings"
)

// Usage is the command with its arguments and options: what `?` shows first.
func (s *Spec) Usage() string {
	var b strings.Builder
	b.WriteString(strings.Join(s.Path, " "))
	for _, f := range s.Flags {
		b.WriteString(" [--" + f.Name + " " + f.Value + "]")
	}
	for _, a := range s.Args {
		name := a.Name
		if a.Rest {
			name += "..."
		}
		if a.Optional {
			name = "[" + name + "]"
		}
		b.WriteString(" " + name)
	}
	return b.String()
}

// HelpText explains the commands that topic begins, `""` all of them: one line
// each, or for a single command its arguments, options and examples.
func HelpText(topic string, where Where) (string, error) {
	cand := specs(where)
	for i, t := range lex(topic) {
		if len(cand) == 1 && len(cand[0].Path) <= i {
			return "", fail(topic, t, "unexpected %q after %s", t.text, strings.Join(cand[0].Path, " "))
		}
		w, err := oneOf(topic, t, "command", wordsAt(cand, i))
		if err != nil {
			return "", err
		}
		cand = narrow(cand, i, w)
	}
	if len(cand) == 1 {
		return cand[0].page(), nil
	}
	var rows [][2]string
	for _, s := range cand {
		rows = append(rows, [2]string{s.brief(), s.Help})
	}
	return columns(rows), nil
}

// brief is the usage line without options.
func (s *Spec) brief() string {
	t := *s
	t.Flags = nil
	return t.Usage()
}

func (s *Spec) page() string {
	var b strings.Builder
	b.WriteString(s.Usage() + "\n  " + s.Help + "\n")
	var rows [][2]string
	for _, a := range s.Args {
		if a.Kind != KindWord {
			rows = append(rows, [2]string{a.Name, a.Help})
		}
		for _, w := range a.Words {
			rows = append(rows, [2]string{w.Text, w.Help})
		}
		if a.Kind == KindSysctl {
			for _, c := range expand(a) {
				rows = append(rows, [2]string{"  " + c.Text, c.Help})
			}
		}
	}
	for _, f := range s.Flags {
		rows = append(rows, [2]string{"--" + f.Name + " " + f.Value, f.Help})
	}
	if len(rows) > 0 {
		b.WriteString(columns(rows))
	}
	for _, e := range s.Examples {
		b.WriteString("  e.g. " + e + "\n")
	}
	return b.String()
}

// columns sets rows in two columns; a first column too wide for its neighbours
// gets a line of its own.
func columns(rows [][2]string) string {
	const widest = 30
	width := 0
	for _, r := range rows {
		if n := len([]rune(r[0])); n <= widest {
			width = max(width, n)
		}
	}
	var b strings.Builder
	for _, r := range rows {
		n := len([]rune(r[0]))
		b.WriteString("  " + r[0])
		switch {
		case r[1] == "":
		case n > width:
			b.WriteString("\n  " + strings.Repeat(" ", width+2) + r[1])
		default:
			b.WriteString(strings.Repeat(" ", width+2-n) + r[1])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Question is the answer to `?` at the end of line (without the `?`): what may
// come next, each with its help.
func Question(line string, where Where, objects func(Kind) []string) string {
	_, list := Next(line, where)
	if len(list) == 0 {
		if _, err := ParseLine(line); err != nil {
			return err.Error() + "\n"
		}
		return "  <enter>\n"
	}
	var rows [][2]string
	for _, c := range list {
		if c.Placeholder && c.Kind.Live() && objects != nil {
			if have := objects(c.Kind); len(have) > 0 && len(have) <= 16 {
				c.Help += ": " + strings.Join(have, ", ")
			}
		}
		rows = append(rows, [2]string{c.Text, c.Help})
	}
	if _, err := ParseLine(line); err == nil && strings.TrimSpace(line) != "" {
		rows = append(rows, [2]string{"<enter>", ""})
	}
	return columns(rows)
}

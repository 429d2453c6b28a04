package completion

import (
	"os"
	"regexp"
	"slices"
	"strings"

	"edemux/cli/command"

	"github.com/urfave/cli/v2"
)

// result is what may stand at the end of a line.
type result struct {
	typed string // the word under the cursor so far
	words []command.Candidate
	files bool
}

// complete finds what may stand at the end of line, a shell command whose first
// word is the program.
func complete(app *cli.App, line string, live func(socket string) func(command.Kind) []string) result {
	args := split(line)
	if len(args) < 2 {
		return result{}
	}
	r := result{typed: args[len(args)-1]}
	before := args[1 : len(args)-1]
	cmds, flags := app.Commands, app.Flags
	var cmd *cli.Command
	for i := 0; i < len(before); i++ {
		w := before[i]
		if w == "--" {
			r.files = takesFiles(cmd)
			return r
		}
		if strings.HasPrefix(w, "-") && len(w) > 1 {
			if f := valueFlag(flags, w); f != nil {
				if i++; i == len(before) {
					r.value(f, "")
					return r
				}
			}
			continue
		}
		next := find(cmds, w)
		if next == nil {
			continue // an argument
		}
		cmd, cmds, flags = next, next.Subcommands, next.Flags
		if cmd.SkipFlagParsing {
			r.grammar(before[i+1:], flags, live)
			return r
		}
	}
	if name, value, ok := strings.Cut(r.typed, "="); ok && strings.HasPrefix(name, "-") {
		if f := valueFlag(flags, name); f != nil {
			r.value(f, name+"=")
			r.files = r.files && value == ""
		}
		return r
	}
	r.here(cmds, flags, cmd)
	return r
}

// here offers subcommands and flags.
func (r *result) here(cmds []*cli.Command, flags []cli.Flag, cmd *cli.Command) {
	if strings.HasPrefix(r.typed, "-") {
		r.flags(flags)
		return
	}
	for _, c := range cmds {
		if !c.Hidden {
			r.add(c.Name, c.Usage)
		}
	}
	if cmd != nil {
		for w := range strings.FieldsFuncSeq(cmd.ArgsUsage, func(c rune) bool { return c == ' ' || c == '|' }) {
			if plain.MatchString(w) {
				r.add(w, "")
			}
		}
	}
	r.files = r.files || takesFiles(cmd)
}

func (r *result) flags(flags []cli.Flag) {
	for _, f := range flags {
		if v, ok := f.(cli.VisibleFlag); ok && !v.IsVisible() {
			continue
		}
		usage := ""
		if d, ok := f.(cli.DocGenerationFlag); ok {
			usage = strings.ReplaceAll(d.GetUsage(), "`", "")
		}
		for _, n := range f.Names() {
			if len(n) > 1 {
				r.add("--"+n, usage)
			} else if r.typed == "-" {
				r.add("-"+n, usage)
			}
		}
	}
	r.add("--help", "show help")
}

// grammar completes the commands of the daemon: what follows `ctl`.
func (r *result) grammar(before []string, flags []cli.Flag, live func(string) func(command.Kind) []string) {
	socket := os.Getenv("EDEMUX_SOCKET")
	var words []string
	for i := 0; i < len(before); i++ {
		w := before[i]
		value, ok := strings.CutPrefix(w, "--socket=")
		switch {
		case ok:
			socket = value
		case w == "--socket" && i+1 == len(before):
			r.files = true
			return
		case w == "--socket":
			i++
			socket = before[i]
		case w == "--json" && len(words) == 0:
		default:
			words = append(words, w)
		}
	}
	if len(words) == 0 && strings.HasPrefix(r.typed, "-") {
		r.flags(flags)
		return
	}
	line := ""
	for _, w := range words {
		line += command.Quote(w) + " "
	}
	if r.typed != "" {
		line += command.Quote(r.typed)
	}
	_, found := command.Complete(line, command.InCtl, live(socket))
	help := map[string]string{}
	_, next := command.Next(line, command.InCtl)
	for _, c := range next {
		help[c.Text] = c.Help
		r.files = r.files || c.Kind == command.KindFile && c.Placeholder
	}
	for _, w := range found {
		r.add(w, help[w])
	}
}

func (r *result) add(text, help string) {
	same := func(c command.Candidate) bool { return c.Text == text }
	if strings.HasPrefix(text, r.typed) && !slices.ContainsFunc(r.words, same) {
		r.words = append(r.words, command.Candidate{Text: text, Help: help})
	}
}

// value offers the values of a flag: those its explanation lists, or files.
func (r *result) value(f cli.Flag, prefix string) {
	d, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return
	}
	usage := d.GetUsage()
	for _, w := range choices(usage) {
		r.add(prefix+w, "")
	}
	for _, word := range []string{"FILE", "PATH", "DIR", "VMLINUZ"} {
		r.files = r.files || strings.Contains(usage, "`"+word)
	}
}

var (
	plain = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	list  = regexp.MustCompile(`(?:^|: )((?:[a-z0-9-]+, )*[a-z0-9-]+(?:, | or )[a-z0-9-]+)$`)
)

// choices are the words of an explanation that is, or ends in, a list: `a, b or
// c`.
func choices(usage string) []string {
	m := list.FindStringSubmatch(usage)
	if m == nil {
		return nil
	}
	return strings.Split(strings.ReplaceAll(m[1], " or ", ", "), ", ")
}

// takesFiles: commands whose arguments name files say so in capitals.
func takesFiles(c *cli.Command) bool {
	return c != nil && (strings.Contains(c.ArgsUsage, "FILE") || strings.Contains(c.ArgsUsage, "CAPTURE"))
}

// valueFlag is the flag w when a value belongs to it that w does not hold.
func valueFlag(flags []cli.Flag, w string) cli.Flag {
	name := strings.TrimLeft(w, "-")
	for _, f := range flags {
		if d, ok := f.(cli.DocGenerationFlag); ok && d.TakesValue() && slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

func find(cmds []*cli.Command, name string) *cli.Command {
	for _, c := range cmds {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}

// split cuts a shell line into words; the last is the one under the cursor, ""
// after a blank. Quotes and backslashes are taken off; what the shell would
// expand stays as it is.
func split(line string) []string {
	words := []string{""}
	last := func() *string { return &words[len(words)-1] }
	var quote rune
	escaped, inside := false, false
	for _, c := range line {
		switch {
		case escaped:
			*last() += string(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, inside = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			*last() += string(c)
		case c == '\'' || c == '"':
			quote, inside = c, true
		case c == ' ' || c == '\t':
			if inside {
				words, inside = append(words, ""), false
			}
		default:
			*last() += string(c)
			inside = true
		}
	}
	return words
}

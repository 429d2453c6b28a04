package cli

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// reorder moves flags in front of arguments, which urfave/cli v2 needs and
// people do not: `edemux replay file.pcap --json`. What follows `--` stays an
// argument; a lone `-` is the standard input. Flags of each level (global,
// command, subcommand) stay at their level. A command that takes its arguments
// as they are (ctl) gets them so.
func reorder(args []string, commands []*cli.Command, global []cli.Flag) []string {
	if len(args) == 0 {
		return args
	}
	out := []string{args[0]}
	rest := args[1:]
	flags := global
	for {
		name, at := firstArgument(rest, flags)
		cmd := find(commands, name)
		if cmd == nil {
			return append(out, sortFlags(rest, flags)...)
		}
		out = append(out, rest[:at]...)
		out = append(out, name)
		rest = rest[at+1:]
		if cmd.SkipFlagParsing {
			return append(out, rest...)
		}
		flags, commands = cmd.Flags, cmd.Subcommands
	}
}

// firstArgument returns the first word that is no flag or flag value.
func firstArgument(args []string, flags []cli.Flag) (string, int) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			return "", len(args)
		}
		if !isFlag(a) {
			return a, i
		}
		if takesValue(a, flags) {
			i++
		}
	}
	return "", len(args)
}

// sortFlags puts flags with their values first and arguments after them.
func sortFlags(args []string, flags []cli.Flag) []string {
	var front, back []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			return append(append(append(front, "--"), back...), args[i+1:]...)
		case !isFlag(a):
			back = append(back, a)
		default:
			front = append(front, a)
			if takesValue(a, flags) && i+1 < len(args) {
				i++
				front = append(front, args[i])
			}
		}
	}
	if len(back) > 0 {
		front = append(front, "--")
	}
	return append(front, back...)
}

func isFlag(a string) bool { return len(a) > 1 && a[0] == '-' }

// takesValue reports whether the word after flag a is its value.
func takesValue(a string, flags []cli.Flag) bool {
	if strings.Contains(a, "=") {
		return false
	}
	name := strings.TrimLeft(a, "-")
	for _, f := range flags {
		for _, n := range f.Names() {
			if n != name {
				continue
			}
			d, ok := f.(cli.DocGenerationFlag)
			return ok && d.TakesValue()
		}
	}
	return false
}

func find(commands []*cli.Command, name string) *cli.Command {
	for _, c := range commands {
		if name != "" && c.HasName(name) {
			return c
		}
	}
	return nil
}

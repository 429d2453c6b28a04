// Package cli is the command line of edemux: what users type, the
// configuration they write and the text they read.
//
// Job: parse arguments, wire a configuration to the dataplane, print. Order:
// flags may stand before or after arguments; every error is one line on stderr
// with an exit code of package exit. Threads: Main is called once.
package cli

import (
	"fmt"
	"io"
	"strings"

	"edemux/cli/exit"

	"github.com/urfave/cli/v2"
)

// Main runs one command line and returns the exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	app := newApp(stdin, stdout, stderr)
	return report(app.Run(reorder(args, app.Commands, app.Flags)), stderr)
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *cli.App {
	app := &cli.App{
		Name:      "edemux",
		Usage:     "Linux's socket demultiplexer as a userspace dataplane",
		UsageText: "edemux COMMAND [flags] [arguments]",
		Description: "Which socket gets this packet, and why? edemux decides as Linux does: early demux,\n" +
			"established flows, lookup rules, listeners by score, reuseport groups.\n\n" +
			"Start with:  edemux replay capture.pcap\n" +
			"             edemux explain capture.pcap --frame 1",
		Reader: stdin, Writer: stdout, ErrWriter: stderr,
		HideVersion:               true,
		DisableSliceFlagSeparator: true,
		HideHelpCommand:           false,
		Commands:                  commands(),
		OnUsageError:              usageError,
		ExitErrHandler:            func(*cli.Context, error) {},
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return unknownCommand(c.App, c.Args().First())
			}
			return cli.ShowAppHelp(c)
		},
	}
	for _, c := range app.Commands {
		c.OnUsageError = usageError
		for _, s := range c.Subcommands {
			s.OnUsageError = usageError
		}
	}
	return app
}

// usageError replaces the help page that urfave/cli prints on a wrong flag.
func usageError(c *cli.Context, err error, _ bool) error {
	name := "edemux"
	if c.Command != nil && c.Command.Name != "" && c.Command.Name != "edemux" {
		name = "edemux " + c.Command.Name
	}
	return exit.Usagef("%s: %s (see %s --help)", strings.TrimPrefix(name, "edemux "), flagText(err), name)
}

// flagText turns the flag package's messages into ours.
func flagText(err error) string {
	s := err.Error()
	if n, ok := strings.CutPrefix(s, "flag provided but not defined: -"); ok {
		return "unknown flag --" + strings.TrimLeft(n, "-")
	}
	return s
}

func unknownCommand(app *cli.App, name string) error {
	best := ""
	for _, c := range app.Commands {
		if strings.HasPrefix(c.Name, name) || strings.HasPrefix(name, c.Name) {
			best = c.Name
		}
	}
	if best != "" {
		return exit.Usagef("unknown command: %s: did you mean %q? (see edemux --help)", name, best)
	}
	return exit.Usagef("unknown command: %s: see edemux --help", name)
}

// noArguments refuses stray words.
func noArguments(c *cli.Context) error {
	if c.NArg() > 0 {
		return exit.Usagef("%s: unexpected argument %q (see edemux %s --help)", c.Command.Name, c.Args().First(), c.Command.Name)
	}
	return nil
}

func printf(c *cli.Context, format string, args ...any) error {
	_, err := fmt.Fprintf(c.App.Writer, format, args...)
	return err
}

// Package completion is `edemux completion`: what a shell runs when Tab is
// pressed after `edemux`.
//
// Job: print a small script for bash or zsh, which asks the program itself for
// the words: the commands and flags of the program, and for `ctl` the grammar
// of package command with the live objects of the daemon. So the scripts never
// grow old. Threads: one. Errors: a line that is wrong offers nothing; a daemon
// that does not answer offers no objects.
package completion

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"strings"
	"time"

	"edemux/cli/command"
	"edemux/cli/control"
	"edemux/cli/exit"

	"github.com/urfave/cli/v2"
)

//go:embed edemux.bash
var bash string

//go:embed _edemux.zsh
var zsh string

// wait is how long a key press may wait for the daemon.
const wait = 500 * time.Millisecond

// Command is `edemux completion`.
func Command() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print the script that completes edemux in a shell",
		ArgsUsage: "bash | zsh",
		Description: "Examples:\n" +
			"  source <(edemux completion bash)                          in ~/.bashrc\n" +
			"  edemux completion zsh > \"${fpath[1]}/_edemux\"             once",
		HideHelpCommand: true,
		Subcommands: []*cli.Command{
			{
				Name: "words", Hidden: true, HideHelpCommand: true, Action: words, Usage: "list what may stand at the end of a command line",
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "line", Usage: "the command line up to the cursor"},
					&cli.StringFlag{Name: "breaks", Usage: "characters at which the shell begins a word anew"},
					&cli.BoolFlag{Name: "help-text", Usage: "explain each word"},
				},
			},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return exit.Usagef("completion: want bash or zsh (see edemux completion --help)")
			}
			script := map[string]string{"bash": bash, "zsh": zsh}[c.Args().First()]
			if script == "" {
				return exit.Usagef("completion: %q: want bash or zsh", c.Args().First())
			}
			_, err := io.WriteString(c.App.Writer, script)
			return err
		},
	}
}

// words prints a word a line. A line `:files` says that names of files may
// stand there as well. With --help-text lines are WORD:EXPLANATION, colons in
// the word escaped, as zsh's _describe takes them.
func words(c *cli.Context) error {
	root := c.App
	for _, up := range c.Lineage() {
		if up.App != nil && len(up.App.Commands) > len(root.Commands) {
			root = up.App
		}
	}
	got := complete(root, c.String("line"), live)
	for _, w := range got.words {
		text := w.Text
		if c.Bool("help-text") {
			text = strings.ReplaceAll(text, ":", `\:`) + ":" + strings.ReplaceAll(w.Help, "\n", " ")
		} else {
			text = afterBreak(text, got.typed, c.String("breaks"))
		}
		if _, err := fmt.Fprintln(c.App.Writer, text); err != nil {
			return err
		}
	}
	if got.files {
		_, err := fmt.Fprintln(c.App.Writer, ":files")
		return err
	}
	return nil
}

// afterBreak takes off what bash does not count as part of the word under the
// cursor: all up to the last break character of what was typed.
func afterBreak(text, typed, breaks string) string {
	i := strings.LastIndexAny(typed, breaks)
	if i < 0 || !strings.HasPrefix(text, typed[:i+1]) {
		return text
	}
	return text[i+1:]
}

// live asks the daemon on a socket for names.
func live(socket string) func(command.Kind) []string {
	d := control.NewClient(socket)
	return func(k command.Kind) []string {
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		defer cancel()
		names, err := d.Objects(ctx, k)
		if err != nil {
			return nil
		}
		return names
	}
}

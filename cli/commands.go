package cli

import (
	"edemux/cli/bench"
	"edemux/cli/completion"
	"edemux/cli/gen"
	"edemux/cli/shell"
	"edemux/cli/top"

	"github.com/urfave/cli/v2"
)

// commands are all commands, in the order of the help page.
func commands() []*cli.Command {
	return []*cli.Command{
		replayCommand(),
		explainCommand(),
		checkCommand(),
		exampleCommand(),
		gen.Command(),
		bench.Command(),
		shell.CtlCommand(),
		shell.ShellCommand(),
		top.Command(),
		completion.Command(),
		versionCommand(),
	}
}

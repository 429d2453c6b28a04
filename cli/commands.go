package cli

import "github.com/urfave/cli/v2"

// commands are all commands, in the order of the help page.
func commands() []*cli.Command {
	return []*cli.Command{
		replayCommand(),
		checkCommand(),
		exampleCommand(),
		versionCommand(),
	}
}

package cli

import (
	"edemux/cli/bench"
	"edemux/cli/completion"
	"edemux/cli/daemon"
	"edemux/cli/doctor"
	"edemux/cli/dpdkrun"
	"edemux/cli/gen"
	"edemux/cli/shell"
	"edemux/cli/top"
	"edemux/dataplane/dpdk"

	"github.com/urfave/cli/v2"
)

// commands are all commands, in the order of the help page.
func commands() []*cli.Command {
	dpdkrun.Install()
	return []*cli.Command{
		replayCommand(),
		explainCommand(),
		checkCommand(),
		exampleCommand(),
		gen.Command(),
		bench.Command(),
		daemon.Command(version, dpdk.Version),
		shell.CtlCommand(),
		shell.ShellCommand(),
		top.Command(),
		doctor.Command(),
		completion.Command(),
		versionCommand(),
	}
}

package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"edemux/cli/config"
	"edemux/cli/exit"
	"edemux/cli/setup"
	"edemux/dataplane/dpdk"

	"github.com/urfave/cli/v2"
)

func checkCommand() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "validate a configuration",
		ArgsUsage: "FILE",
		Description: "Everything that would stop edemux is found: keys, values, references, binds that Linux would\n" +
			"refuse. Exit 0 when the configuration is good, 2 with the first mistake otherwise.\n\n" +
			"Examples:\n  edemux check edemux.yaml\n  edemux example > edemux.yaml && edemux check edemux.yaml",
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return exit.Usagef("check: want one FILE (see edemux check --help)")
			}
			file := c.Args().First()
			h, err := setup.Open(setup.Options{File: file, Command: "check", Replay: true})
			if err != nil {
				return err
			}
			defer h.Close()
			for _, w := range h.Config.Warnings {
				fmt.Fprintf(c.App.ErrWriter, "edemux: warning: %s\n", w)
			}
			return printf(c, "%s: good: %d VRFs, %d ports, %d sockets, %d rules, %d workers\n", file,
				len(h.Config.VRFs), len(h.Config.Ports), h.Sockets(), len(h.Config.Rules), len(h.Engine.Workers()))
		},
	}
}

func exampleCommand() *cli.Command {
	return &cli.Command{
		Name:  "example",
		Usage: "print a commented configuration with every key and its default",
		Description: "Examples:\n  edemux example > edemux.yaml\n" +
			"  edemux example --default      what replay and explain use without -c",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "default", Usage: "print the configuration that runs without -c"}},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			text := config.Example()
			if c.Bool("default") {
				text = config.DefaultText()
			}
			return printf(c, "%s", text)
		},
	}
}

// Version is set by the build; it falls back to the commit that Go recorded.
var Version = ""

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the versions of edemux, Go and DPDK",
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			return printf(c, "edemux %s\n%s %s/%s\ndpdk %s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, dpdk.Version())
		},
	}
}

func version() string {
	if Version != "" {
		return Version
	}
	if bi, ok := debug.ReadBuildInfo(); ok {
		for _, s := range bi.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				return "devel-" + s.Value[:12]
			}
		}
	}
	return "devel"
}

package doctor

import (
	"encoding/json"
	"fmt"

	"edemux/cli/exit"

	"github.com/urfave/cli/v2"
)

// Command is `edemux doctor`.
func Command() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "what this machine lacks for DPDK, and the command that mends it",
		Description: "Looks and changes nothing. `lack` keeps some mode from working, `slow` works but not at the\n" +
			"machine's speed; below each stands what it is needed for and what to type. Replays need none of it.\n\n" +
			"Examples:\n  edemux doctor\n  edemux doctor --json",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print JSON"}},
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return exit.Usagef("doctor: %s: want no argument", c.Args().First())
			}
			all := Examine(ThisHost())
			if !c.Bool("json") {
				return Print(c.App.Writer, all)
			}
			b, err := json.MarshalIndent(map[string]any{"worst": Worst(all), "findings": all}, "", "  ")
			if err != nil {
				return fmt.Errorf("doctor: %w", err)
			}
			_, err = fmt.Fprintf(c.App.Writer, "%s\n", b)
			return err
		},
	}
}

package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"edemux/cli/exit"

	"github.com/urfave/cli/v2"
)

// Command is `edemux bench`.
func Command() *cli.Command {
	return &cli.Command{
		Name:      "bench",
		Usage:     "measure on this machine",
		ArgsUsage: "pipeline",
		Description: "Rows are medians of rounds. Compare rows of one run, not of two.\n\n" +
			"Examples:\n  edemux bench pipeline --flows 1000\n  edemux bench pipeline --flows 1000000 --sink touch --json",
		Subcommands: []*cli.Command{pipelineCommand()},
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return exit.Usagef("bench: unknown benchmark %q (see edemux bench --help)", c.Args().First())
			}
			return exit.Usagef("bench: which one? (see edemux bench --help)")
		},
	}
}

func pipelineCommand() *cli.Command {
	return &cli.Command{
		Name:  "pipeline",
		Usage: "the whole walk, from frames in memory to workers",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "engine", Value: "go", Usage: "go: frames held in memory"},
			&cli.IntFlag{Name: "flows", Value: 1000, Usage: "connected UDP flows"},
			&cli.StringFlag{Name: "sink", Value: "count", Usage: "what workers do: count or touch"},
			&cli.IntFlag{Name: "lcores", Value: 1, Usage: "polling threads"},
			&cli.Float64Flag{Name: "seconds", Value: 1, Usage: "length of a round"},
			&cli.IntFlag{Name: "rounds", Value: 5, Usage: "rounds; the median counts"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON"},
		},
		Action: func(c *cli.Context) error {
			o := Pipeline{Flows: c.Int("flows"), Sink: c.String("sink"), Lcores: c.Int("lcores"), Seconds: c.Float64("seconds"), Rounds: c.Int("rounds")}
			switch {
			case c.String("engine") != "go":
				return exit.Usagef("bench pipeline: --engine: %q: want go", c.String("engine"))
			case o.Flows < 1 || o.Flows > 1<<24:
				return exit.Usagef("bench pipeline: --flows: %d: want 1 to 16777216", o.Flows)
			case o.Lcores < 1 || o.Lcores > 64 || o.Rounds < 1 || o.Seconds <= 0:
				return exit.Usagef("bench pipeline: --lcores, --rounds and --seconds must be positive, lcores at most 64")
			}
			row, err := RunPipeline(o)
			if err != nil {
				return exit.AsUsage(fmt.Errorf("bench pipeline: %w", err))
			}
			if c.Bool("json") {
				return printJSON(c.App.Writer, "pipeline", []*PipelineRow{row})
			}
			return printPipeline(c.App.Writer, row)
		},
	}
}

// printJSON prints the shape that every benchmark shares.
func printJSON(w io.Writer, name string, rows any) error {
	b, err := json.MarshalIndent(map[string]any{"bench": name, "rows": rows}, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

func printPipeline(w io.Writer, r *PipelineRow) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "engine\tsink\tflows\tlcores\tMpps\tns/packet\thit\tearly\tallocs/packet\t")
	fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%.1f\t%.1f\t%.3f\t%.3f\t%g\t\n",
		r.Engine, r.Sink, r.Flows, r.Lcores, r.Mpps, r.NsPerPacket, r.HitRatio, r.EarlyRatio, r.Allocs)
	return t.Flush()
}

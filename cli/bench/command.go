package bench

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"edemux/cli/exit"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"
)

// Command is `edemux bench`.
func Command() *cli.Command {
	subs := []*cli.Command{
		pipelineCommand(),
		sidesCommand("connect", "the search for a source port, with six ways of hashing", familyFlag),
		sidesCommand("isolation", "what the flows of other VRFs cost, in an own table and in a shared one"),
		sidesCommand("table", "the flow table beside other structures that hold the same flows", familyFlag, flowsFlag),
		sidesCommand("listen", "the search for a listener among many, behind many rules"),
		sidesCommand("reuseport", "the flow hash of a reuseport group, computed always and only when needed", familyFlag),
		sidesCommand("earlydemux", "early demux on, off, as Linux does it and absent"),
	}
	names := make([]string, len(subs))
	for i, s := range subs {
		names[i] = s.Name
	}
	return &cli.Command{
		Name:      "bench",
		Usage:     "measure on this machine",
		ArgsUsage: strings.Join(names, "|"),
		Description: "Rows are medians over rounds in which the sides take turns. Compare rows of one run, not of\n" +
			"two. docs/benchmarks.md says how to read each of them.\n\n" +
			"Examples:\n  edemux bench pipeline --flows 1000\n  edemux bench table --json\n  edemux bench connect --full",
		Subcommands: subs,
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return exit.Usagef("bench: unknown benchmark %q (see edemux bench --help)", c.Args().First())
			}
			return exit.Usagef("bench: which one? (see edemux bench --help)")
		},
	}
}

var (
	familyFlag = &cli.StringFlag{Name: "family", Usage: "v4 or v6 (default: both)"}
	flowsFlag  = &cli.IntFlag{Name: "flows", Usage: "only tables of so many flows"}
)

// runners run a benchmark with the flags of its command and return the rows.
var runners = map[string]func(*cli.Context, Options) (any, error){
	"connect": func(c *cli.Context, o Options) (any, error) {
		b := Connect{Options: o}
		b.defaults()
		b.Families = familiesOf(c, b.Families)
		return RunConnect(b)
	},
	"earlydemux": func(_ *cli.Context, o Options) (any, error) {
		b := Early{Options: o}
		b.defaults()
		return RunEarly(b)
	},
	"listen": func(_ *cli.Context, o Options) (any, error) {
		b := Listen{Options: o}
		b.defaults()
		return RunListen(b)
	},
	"reuseport": func(c *cli.Context, o Options) (any, error) {
		b := Reuseport{Options: o}
		b.defaults()
		b.Families = familiesOf(c, b.Families)
		return RunReuseport(b)
	},
	"isolation": func(_ *cli.Context, o Options) (any, error) {
		b := Isolation{Options: o}
		b.defaults()
		return RunIsolation(b)
	},
	"table": func(c *cli.Context, o Options) (any, error) {
		b := Table{Options: o}
		b.defaults()
		b.Families = familiesOf(c, b.Families)
		if n := c.Int("flows"); n > 0 {
			b.Flows, b.Changes = []int{n}, []int{n}
		}
		return RunTable(b)
	},
}

func familiesOf(c *cli.Context, all []string) []string {
	if f := c.String("family"); f != "" {
		return []string{f}
	}
	return all
}

// sidesCommand is the command of a benchmark that compares sides in one run.
func sidesCommand(name, usage string, more ...cli.Flag) *cli.Command {
	return &cli.Command{
		Name:  name,
		Usage: usage,
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print JSON"},
			&cli.BoolFlag{Name: "full", Usage: "every row; the default takes at most five minutes"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "of flows, orders and intervals"},
			&cli.IntFlag{Name: "rounds", Usage: "slices of each side (default: the benchmark's own)"},
			&cli.DurationFlag{Name: "slice", Usage: "length of a slice (default: the benchmark's own)"},
		}, more...),
		Action: func(c *cli.Context) error {
			o, err := optionsOf(c, name)
			if err != nil {
				return err
			}
			rows, err := runners[name](c, o)
			if err != nil {
				return fmt.Errorf("bench %s: %w", name, err)
			}
			if c.Bool("json") {
				return printJSON(c.App.Writer, name, rows)
			}
			return printRows(c.App.Writer, rows)
		},
	}
}

func optionsOf(c *cli.Context, name string) (o Options, err error) {
	o = Options{Full: c.Bool("full"), Seed: c.Uint64("seed"), Rounds: c.Int("rounds"), Slice: c.Duration("slice")}
	switch {
	case c.NArg() > 0:
		return o, exit.Usagef("bench %s: %s: want no argument", name, c.Args().First())
	case o.Rounds < 0 || o.Slice < 0 || o.Slice > time.Minute:
		return o, exit.Usagef("bench %s: --rounds and --slice must not be negative, --slice at most 1m", name)
	case c.Int("flows") < 0 || c.Int("flows") > maxTableBuckets:
		return o, exit.Usagef("bench %s: --flows: %d: want 1 to %d", name, c.Int("flows"), maxTableBuckets)
	}
	if f := c.String("family"); f != "" && f != "v4" && f != "v6" {
		return o, exit.Usagef("bench %s: --family: %q: want v4 or v6", name, f)
	}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		o.Say = func(format string, args ...any) { fmt.Fprintf(os.Stderr, "\r\x1b[K"+format+"\r", args...) }
	}
	return o, nil
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
			&cli.StringFlag{Name: "cpuprofile", Usage: "write a CPU profile to `FILE` (make pgo)"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON"},
		},
		Action: func(c *cli.Context) error {
			stop, err := profileTo(c.String("cpuprofile"))
			if err != nil {
				return fmt.Errorf("bench pipeline: %w", err)
			}
			defer stop()
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

func printPipeline(w io.Writer, r *PipelineRow) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "engine\tsink\tflows\tlcores\tMpps\tns/packet\thit\tearly\tallocs/packet\t")
	fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%.1f\t%.1f\t%.3f\t%.3f\t%g\t\n",
		r.Engine, r.Sink, r.Flows, r.Lcores, r.Mpps, r.NsPerPacket, r.HitRatio, r.EarlyRatio, r.Allocs)
	return t.Flush()
}

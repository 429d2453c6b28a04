package cli

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"edemux/cli/exit"
	"edemux/cli/replay"

	"github.com/urfave/cli/v2"
)

func replayCommand() *cli.Command {
	return &cli.Command{
		Name:      "replay",
		Usage:     "run captures through the dataplane and say which worker gets each packet",
		ArgsUsage: "[NAME=]CAPTURE...",
		Description: "Captures are pcap or pcapng, plain, gzip or zstd, - for standard input; several are merged\n" +
			"by timestamp. NAME is the port that the frames come in on. Without -c every TCP and UDP port\n" +
			"has a listening group of four workers, and the local side of each conversation is guessed.\n\n" +
			"Examples:\n" +
			"  edemux replay capture.pcap\n" +
			"  edemux replay -c edemux.yaml eth0=a.pcap eth1=b.pcap.zst --decisions -\n" +
			"  edemux replay capture.pcap --set udp_early_demux=0 --json\n" +
			"  edemux replay capture.pcap --golden expected.tsv --update",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "config", Aliases: []string{"c"}, Usage: "configuration `FILE`"},
			&cli.StringFlag{Name: "engine", Value: "go", Usage: "go, or dpdk: frames go through mbufs and a ring to an EAL lcore"},
			&cli.IntFlag{Name: "lcores", Value: 1, Usage: "threads that parse; the result does not depend on it"},
			&cli.IntFlag{Name: "burst", Value: 64, Usage: "frames per burst, 1 to 64; the result does not depend on it"},
			&cli.StringFlag{Name: "local", Usage: "which addresses are this host's: auto, all, or `ADDR,...` (addresses or prefixes)"},
			&cli.StringFlag{Name: "speed", Value: "max", Usage: "max, real, `N`x (times real time) or Npps"},
			&cli.IntFlag{Name: "loop", Value: 1, Usage: "play the input `N` times; 0 = until interrupted"},
			&cli.DurationFlag{Name: "duration", Usage: "stop after this much capture time, such as 10s"},
			&cli.StringFlag{Name: "frames", Usage: "only frames `A-B` of the merged input (A-, -B, N)"},
			&cli.StringFlag{Name: "filter", Usage: "only frames that match, such as 'udp and net 10.0.0.0/8 and not port 53'"},
			&cli.StringSliceFlag{Name: "set", Usage: "set a sysctl: `[VRF:]NAME=VALUE`, or early_demux_match=exact|linux"},
			&cli.StringFlag{Name: "script", Usage: "commands at given frames or times, from `FILE`"},
			&cli.StringFlag{Name: "secret", Usage: "hash secret, 32 `HEX` digits"},
			&cli.StringFlag{Name: "decisions", Usage: "write one line per frame to `FILE` (- for standard output)"},
			&cli.BoolFlag{Name: "json", Usage: "print the summary as JSON"},
			&cli.StringFlag{Name: "golden", Usage: "compare with `FILE`: decisions if it ends in .tsv, else the JSON summary; exit 3 when different"},
			&cli.BoolFlag{Name: "update", Usage: "with --golden: write the file instead"},
			&cli.StringFlag{Name: "out", Usage: "write a pcapng per worker, and one of the drops, to `DIR`"},
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "no summary"},
		},
		Action: func(c *cli.Context) error {
			o, err := replayOptions(c)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return replay.Run(ctx, o)
		},
	}
}

// replayOptions turns flags into options and refuses combinations that make
// no sense.
func replayOptions(c *cli.Context) (*replay.Options, error) {
	o := &replay.Options{
		Config: c.String("config"), Engine: c.String("engine"),
		Lcores: c.Int("lcores"), Burst: c.Int("burst"), Local: c.String("local"),
		Speed: c.String("speed"), Loop: c.Int("loop"), LoopSet: c.IsSet("loop"), SpeedSet: c.IsSet("speed"),
		Duration: c.Duration("duration"), Frames: c.String("frames"), Filter: c.String("filter"),
		Sets: c.StringSlice("set"), Script: c.String("script"), Secret: c.String("secret"),
		Decisions: c.String("decisions"), JSON: c.Bool("json"),
		Golden: c.String("golden"), Update: c.Bool("update"),
		Out: c.String("out"), Quiet: c.Bool("quiet"),
		Stdin: c.App.Reader, Stdout: c.App.Writer, Stderr: c.App.ErrWriter,
	}
	for _, a := range c.Args().Slice() {
		o.Inputs = append(o.Inputs, source(a))
	}
	switch {
	case o.Decisions == "-" && o.JSON:
		return nil, exit.Usagef("replay: --decisions - and --json both want standard output: give --decisions a file")
	case o.Engine != "go" && o.Engine != "dpdk":
		return nil, exit.Usagef("replay: --engine: %q: want go or dpdk", o.Engine)
	case o.Update && o.Golden == "":
		return nil, exit.Usagef("replay: --update goes with --golden FILE")
	case o.Lcores < 1 || o.Lcores > 256:
		return nil, exit.Usagef("replay: --lcores: %d: want 1 to 256", o.Lcores)
	case o.Burst < 1 || o.Burst > 64:
		return nil, exit.Usagef("replay: --burst: %d: want 1 to 64", o.Burst)
	case o.Loop < 0:
		return nil, exit.Usagef("replay: --loop: %d: want 0 (for ever) or more", o.Loop)
	case o.Duration < 0:
		return nil, exit.Usagef("replay: --duration: %s: want a positive time", o.Duration)
	}
	return o, nil
}

// source splits [NAME=]CAPTURE. A path with a slash before the sign is a path.
func source(arg string) replay.Source {
	name, path, found := strings.Cut(arg, "=")
	if !found || strings.Contains(name, "/") {
		return replay.Source{Path: arg}
	}
	return replay.Source{Port: name, Path: path}
}

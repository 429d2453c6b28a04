package daemon

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"edemux/cli/exit"

	"github.com/urfave/cli/v2"
)

// Command is `edemux run`. version and dpdk are shown by `show version`.
func Command(version, dpdk func() string) *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "poll ports and hand packets to workers, with a control socket",
		ArgsUsage: "-c FILE [-- EAL ARGS]",
		Description: "Runs in the foreground. SIGINT and SIGTERM drain and print the accounts, a second one quits at\n" +
			"once; SIGHUP applies the configuration again. A port may play a capture, which needs no root and\n" +
			"no DPDK: source: {pcap: FILE, loop: 0} plays it for ever.\n\n" +
			"Examples:\n  edemux run -c edemux.yaml\n  edemux run -c edemux.yaml -- --file-prefix blue",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "config", Aliases: []string{"c"}, Usage: "configuration `FILE`"},
			&cli.StringSliceFlag{Name: "set", Usage: "set a sysctl: `[VRF:]NAME=VALUE`"},
			&cli.StringFlag{Name: "read-only-socket", Usage: "`PATH` of a second control socket, for everybody, that changes nothing"},
			&cli.StringFlag{Name: "log", Value: "auto", Usage: "text, json, or auto: text on a terminal"},
			&cli.BoolFlag{Name: "no-recorder", Usage: "no flight recorder: saves 8 MiB and some nanoseconds a packet"},
			&cli.BoolFlag{Name: "until-end", Usage: "stop when every capture has come to its end"},
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "no accounts at the end"},
		},
		Action: func(c *cli.Context) error {
			o := &Options{
				Config: c.String("config"), Sets: c.StringSlice("set"), EAL: c.Args().Slice(), ReadOnly: c.String("read-only-socket"),
				Log: c.String("log"), Recorder: !c.Bool("no-recorder"), UntilEnd: c.Bool("until-end"), Quiet: c.Bool("quiet"),
				Version: version(), DPDK: dpdk(), Stdout: c.App.Writer, Stderr: c.App.ErrWriter,
			}
			if o.Log != "auto" && o.Log != "text" && o.Log != "json" {
				return exit.Usagef("run: --log: %s: want auto, text or json", o.Log)
			}
			return withSignals(o)
		},
	}
}

// withSignals runs until the first SIGINT or SIGTERM; the second one quits.
func withSignals(o *Options) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(ch)
	started := o.onStarted
	running := make(chan *Daemon, 1)
	o.onStarted = func(d *Daemon) {
		running <- d
		if started != nil {
			started(d)
		}
	}
	go func() {
		var d *Daemon
		for n := 0; ; {
			switch s := <-ch; {
			case s == syscall.SIGHUP:
				if d == nil {
					select {
					case d = <-running:
					default:
						continue
					}
				}
				d.reload()
			case n > 0:
				fmt.Fprintf(o.Stderr, "edemux: run: second %s: quit\n", s)
				os.Exit(exit.Failure)
			default:
				n++
				cancel()
			}
		}
	}()
	return Run(ctx, o)
}

// reload is SIGHUP.
func (d *Daemon) reload() {
	d.notify("RELOADING=1")
	r, err := d.state.Reload()
	d.notify("READY=1")
	if err != nil {
		d.log.Error("reload: nothing was changed", "error", err)
		return
	}
	d.log.Info("reload", "did", r.Did)
}

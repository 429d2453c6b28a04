package cli

import (
	"context"
	"fmt"
	"slices"

	"edemux/cli/exit"
	"edemux/cli/explain"
	"edemux/cli/replay"
	"edemux/cli/setup"

	"github.com/urfave/cli/v2"
)

func explainCommand() *cli.Command {
	return &cli.Command{
		Name:      "explain",
		Usage:     "say step by step which socket gets a packet, and why",
		ArgsUsage: "CAPTURE --frame N | tcp|udp SADDR:SPORT DADDR:DPORT",
		Description: "With a capture everything before frame N has happened; with a tuple nothing has: a SYN or a\n" +
			"datagram meets the configuration's sockets. The last lines say what each early-demux switch\n" +
			"would change.\n\n" +
			"Examples:\n" +
			"  edemux explain capture.pcap --frame 12\n" +
			"  edemux explain -c edemux.yaml tcp 192.0.2.9:40000 10.0.0.1:443 --dev eth0.10",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "config", Aliases: []string{"c"}, Usage: "configuration `FILE`"},
			&cli.Uint64Flag{Name: "frame", Usage: "number `N` of the frame, from 1"},
			&cli.StringFlag{Name: "dev", Usage: "interface `IF` that the tuple comes in on"},
			&cli.StringFlag{Name: "local", Usage: "which addresses are this host's: auto, all, or `ADDR,...`"},
			&cli.StringSliceFlag{Name: "set", Usage: "set a sysctl: `[VRF:]NAME=VALUE`"},
			&cli.StringFlag{Name: "script", Usage: "commands at given frames or times, from `FILE`"},
			&cli.StringFlag{Name: "secret", Usage: "hash secret, 32 `HEX` digits"},
		},
		Action: explainAction,
	}
}

func explainAction(c *cli.Context) error {
	run, err := explainRun(c)
	if err != nil {
		return err
	}
	at, err := run(nil)
	if err != nil {
		return err
	}
	var ifs []explain.WhatIf
	for _, s := range switches(at) {
		other, err := run([]string{s})
		if err != nil {
			return err
		}
		ifs = append(ifs, explain.WhatIf{Switch: s, At: other})
	}
	return explain.Write(c.App.Writer, at, ifs)
}

// explainRun returns what decides the packet with further --set values.
func explainRun(c *cli.Context) (func(sets []string) (*replay.At, error), error) {
	args := c.Args().Slice()
	if len(args) == 3 && !c.IsSet("frame") || len(args) > 0 && (args[0] == "tcp" || args[0] == "udp") {
		t, err := explain.ParseTuple(args)
		if err != nil {
			return nil, err
		}
		t.Dev = c.String("dev")
		return func(sets []string) (*replay.At, error) {
			return t.Run(setup.Options{
				File: c.String("config"), Sets: append(c.StringSlice("set"), sets...), Secret: c.String("secret"),
				Local: c.String("local"), Command: "explain", Replay: true,
			})
		}, nil
	}
	switch {
	case c.IsSet("dev"):
		return nil, exit.Usagef("explain: --dev goes with a tuple; frames of a capture come in on their port")
	case len(args) == 0 && c.String("config") == "":
		return nil, exit.Usagef("explain: want a CAPTURE with --frame N, or tcp|udp SADDR:SPORT DADDR:DPORT (see edemux explain --help)")
	case slices.Contains(args, "-"):
		return nil, exit.Usagef("explain: -: want a file: the capture is replayed once per switch")
	case c.Uint64("frame") == 0:
		return nil, exit.Usagef("explain: which frame? give --frame N, counted from 1")
	}
	return func(sets []string) (*replay.At, error) {
		o := replay.Options{
			Config: c.String("config"), Engine: "go", Local: c.String("local"), Script: c.String("script"),
			Secret: c.String("secret"), Sets: append(c.StringSlice("set"), sets...), Quiet: true,
			Stdin: c.App.Reader, Stdout: c.App.Writer, Stderr: c.App.ErrWriter,
		}
		for _, a := range args {
			o.Inputs = append(o.Inputs, source(a))
		}
		return replay.UpTo(context.Background(), o, c.Uint64("frame"))
	}, nil
}

// switches are the early-demux switches, each turned over for the VRF of the
// packet.
func switches(at *replay.At) (all []string) {
	if at.Decision.VRF < 0 {
		return nil
	}
	v := &at.Host.Engine.View().VRFs[at.Decision.VRF]
	s := &v.Sysctl
	for _, x := range []struct {
		name string
		on   bool
	}{{"ip_early_demux", s.IPEarlyDemux}, {"tcp_early_demux", s.TCPEarlyDemux}, {"udp_early_demux", s.UDPEarlyDemux}} {
		all = append(all, fmt.Sprintf("%s:%s=%d", v.Name, x.name, b2i(!x.on)))
	}
	return all
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

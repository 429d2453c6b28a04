package gen

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"edemux/cli/exit"
)

// Command is `edemux gen`.
func Command() *cli.Command {
	return &cli.Command{
		Name:      "gen",
		Usage:     "make a synthetic capture; the same flags give the same bytes",
		ArgsUsage: "FILE (- for standard output)",
		Description: "Flows run from remote addresses to local ones, as the local host would capture them. Each\n" +
			"lives once unless --packets says otherwise: UDP sends --data datagrams, TCP its handshake,\n" +
			"--data segments and --end.\n\n" +
			"Examples:\n" +
			"  edemux gen udp.pcap\n" +
			"  edemux gen --proto tcp --both --order shuffle --flows 100 tcp.pcap\n" +
			"  edemux gen --flows 1000000 --order shuffle --packets 4000000 --write-flows flows.tsv big.pcap\n" +
			"  edemux gen --size 3000 --mtu 1500 --family mixed --vlan 10,100.20,none - | edemux replay -",
		Flags:  Flags(),
		Action: Action,
	}
}

// Flags are the flags of `edemux gen`.
func Flags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "flows", Value: 1000, Usage: "number of flows"},
		&cli.Int64Flag{Name: "packets", Usage: "frames in all; 0: one life of every flow"},
		&cli.Uint64Flag{Name: "seed", Usage: "another one gives other ports, sizes and orders"},
		&cli.StringFlag{Name: "proto", Value: "udp", Usage: "udp, tcp or mixed"},
		&cli.StringFlag{Name: "family", Value: "v4", Usage: "v4, v6 or mixed"},
		&cli.StringFlag{Name: "order", Value: "robin", Usage: "whose turn it is: robin, shuffle (a round in shuffled order), random, zipf"},
		&cli.IntFlag{Name: "data", Value: 4, Usage: "datagrams, or segments with data, in a flow's life"},
		&cli.StringFlag{Name: "end", Value: "fin", Usage: "end of a TCP life: fin, rst or none"},
		&cli.BoolFlag{Name: "no-handshake", Usage: "TCP begins in the middle"},
		&cli.BoolFlag{Name: "both", Usage: "with what the local side answers"},
		&cli.StringFlag{Name: "size", Value: "60", Usage: "Ethernet frame without FCS: `BYTES`, A-B or imix"},
		&cli.IntFlag{Name: "mtu", Usage: "longer IP datagrams are fragmented; 0: no limit"},
		&cli.IntFlag{Name: "icmp", Usage: "`PERCENT` of packets followed by an ICMP error about their flow"},
		&cli.IntFlag{Name: "multicast", Usage: "`PERCENT` of UDP flows that go to multicast groups"},
		&cli.StringFlag{Name: "local", Usage: "`PREFIX,...` that packets go to, one per family (default: 10.0.0.1/32,2001:db8::1/128)"},
		&cli.StringFlag{Name: "remote", Usage: "`PREFIX,...` that they come from (default: 198.18.0.0/15,2001:db8:f::/64)"},
		&cli.StringFlag{Name: "local-ports", Value: "9000", Usage: "`PORT` or A-B: flows take them in turn"},
		&cli.StringFlag{Name: "vlan", Usage: "`STACK,...` of tags that flows take in turn: 10, 100.20, none"},
		&cli.StringFlag{Name: "link", Value: "ethernet", Usage: strings.Join(linkNames, ", ")},
		&cli.StringFlag{Name: "format", Usage: "pcap or pcapng (default: by the name of the file, else pcap)"},
		&cli.StringFlag{Name: "resolution", Value: "ns", Usage: "of times: ns or us"},
		&cli.IntFlag{Name: "interfaces", Value: 1, Usage: "of a pcapng file: flows take them in turn"},
		&cli.Uint64Flag{Name: "rate", Value: 1e6, Usage: "frames per second of capture time"},
		&cli.StringFlag{Name: "start", Usage: "`TIME` of the first frame (default: 2025-01-01T00:00:00Z)"},
		&cli.StringFlag{Name: "write-flows", Usage: "write the UDP flows as a `FILE` for `flows:` of a configuration"},
		&cli.StringFlag{Name: "pool", Value: "web", Usage: "worker pool that it names"},
		&cli.IntFlag{Name: "workers", Value: 4, Usage: "workers of the pool: flows take them in turn"},
	}
}

// OptionsOf reads the flags of a command line.
func OptionsOf(c *cli.Context) (Options, error) {
	o := Options{
		Flows: c.Int("flows"), Packets: c.Int64("packets"), Seed: c.Uint64("seed"), Proto: c.String("proto"), Family: c.String("family"),
		Order: c.String("order"), Data: c.Int("data"), End: c.String("end"), NoHandshake: c.Bool("no-handshake"), Both: c.Bool("both"),
		Size: c.String("size"), MTU: c.Int("mtu"), ICMP: c.Int("icmp"), Multicast: c.Int("multicast"), LocalPorts: c.String("local-ports"),
		Link: c.String("link"), Format: c.String("format"), Resolution: c.String("resolution"), Interfaces: c.Int("interfaces"),
		Rate: c.Uint64("rate"), Pool: c.String("pool"), Workers: c.Int("workers"), VLANs: list(c.String("vlan")),
	}
	if o.Format == "" && strings.HasSuffix(c.Args().First(), ".pcapng") {
		o.Format = "pcapng"
	}
	for flag, v := range map[string]int{"flows": o.Flows, "data": o.Data, "interfaces": o.Interfaces, "workers": o.Workers, "rate": int(min(o.Rate, 1))} {
		if v == 0 { // the zero Options mean the default, a zero typed by someone does not
			return o, fmt.Errorf("gen: --%s 0: want at least 1", flag)
		}
	}
	var err error
	if o.Local, err = prefixes("local", c.String("local")); err != nil {
		return o, err
	}
	if o.Remote, err = prefixes("remote", c.String("remote")); err != nil {
		return o, err
	}
	if s := c.String("start"); s != "" {
		t, err := time.Parse(time.RFC3339Nano, s)
		if err != nil || t.Unix() <= 0 || t.Unix() >= 1<<32 {
			return o, fmt.Errorf("gen: --start %q: want a time from 1970 to 2106 such as 2025-01-01T00:00:00Z", s)
		}
		o.Start = t.UnixNano()
	}
	return o, nil
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// prefixes reads addresses and prefixes, at most one per family.
func prefixes(flag, s string) (out []netip.Prefix, err error) {
	var have [2]bool
	for _, item := range list(s) {
		p, err := netip.ParsePrefix(item)
		if a, err2 := netip.ParseAddr(item); err2 == nil && a.Zone() == "" {
			p, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("gen: --%s %q: want an address or a prefix", flag, item)
		}
		family := 0
		if p.Addr().Is6() {
			family = 1
		}
		if have[family] {
			return nil, fmt.Errorf("gen: --%s %s: a second one of its family", flag, item)
		}
		have[family] = true
		out = append(out, p)
	}
	return out, nil
}

// Action runs `edemux gen`. Errors carry exit codes of package exit.
func Action(c *cli.Context) error {
	o, err := OptionsOf(c)
	if err == nil {
		_, err = newPlan(o)
	}
	if err != nil {
		return exit.AsUsage(err)
	}
	flows := c.String("write-flows")
	switch {
	case c.NArg() > 1:
		return exit.Usagef("gen: %s: want one file", c.Args().Get(1))
	case c.NArg() == 0 && flows == "":
		return exit.Usagef("gen: want a file to write, or - for standard output")
	case c.Args().First() == "-" && flows == "-":
		return exit.Usagef("gen: the capture and the flows cannot both go to standard output")
	}
	if flows != "" {
		if err := write(c.App.Writer, flows, true, func(w io.Writer) error { return WriteFlows(w, o) }); err != nil {
			return err
		}
	}
	if c.NArg() == 0 {
		return nil
	}
	return write(c.App.Writer, c.Args().First(), false, func(w io.Writer) error { return Generate(w, o) })
}

// write runs do on a file, or on stdout for "-". A reader of stdout that has
// seen enough is no failure. A file that could not be completed is removed.
func write(stdout io.Writer, name string, text bool, do func(io.Writer) error) error {
	if name == "-" {
		if f, ok := stdout.(*os.File); ok && !text && term.IsTerminal(int(f.Fd())) {
			return exit.Usagef("gen: standard output is a terminal: name a file, or pipe it to `edemux replay -`")
		}
		if err := do(stdout); err != nil && !errors.Is(err, syscall.EPIPE) {
			return fmt.Errorf("gen: standard output: %w", err)
		}
		return nil
	}
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("gen: %w", err)
	}
	err = do(f)
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err != nil {
		if st, err2 := os.Stat(name); err2 == nil && st.Mode().IsRegular() {
			os.Remove(name)
		}
		return fmt.Errorf("gen: %s: %w", name, err)
	}
	return nil
}

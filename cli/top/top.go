// Package top is `edemux top`: what the daemon does, a screen a second.
//
// Job: take snapshots, hand them to render.Top, turn keys into its choices and
// into switches of early demux. Order: one event at a time, a key, a tick, a new
// size or an answer. Threads: the loop owns the state; goroutines read keys and
// ask the daemon, so that a slow daemon holds no key. Errors: a daemon that does
// not answer is shown and asked again; without a terminal, or with --once, it
// is the end.
package top

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"edemux/cli/control"
	"edemux/cli/exit"
	"edemux/cli/render"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"
)

// Bounds of the interval.
const (
	shortest = 100 * time.Millisecond
	longest  = time.Minute
)

// Command is `edemux top`.
func Command() *cli.Command {
	return &cli.Command{
		Name:  "top",
		Usage: "watch lcores, VRFs, workers and drops of the running daemon",
		Description: "Views are chosen with 1 to 5; s sorts, h explains the keys. In the view of VRFs i, t and u turn\n" +
			"early demux of ip, tcp and udp on or off in the chosen VRF.\n\n" +
			"Examples:\n" +
			"  edemux top\n" +
			"  edemux top --view drops --once",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "socket", Value: control.DefaultSocket, EnvVars: []string{"EDEMUX_SOCKET"}, Usage: "control socket of the daemon: a `PATH`"},
			&cli.BoolFlag{Name: "once", Usage: "print one view, of one interval, and exit"},
			&cli.DurationFlag{Name: "interval", Value: time.Second, Usage: "`TIME` between two looks, 100ms to 1m"},
			&cli.StringFlag{Name: "view", Value: "all", Usage: "`VIEW` to begin with: all, lcores, vrfs, workers or drops"},
		},
		Action: action,
	}
}

func action(c *cli.Context) error {
	if c.NArg() > 0 {
		return exit.Usagef("top: unexpected argument %q (see edemux top --help)", c.Args().First())
	}
	t := render.Top{Interval: c.Duration("interval")}
	if t.Interval < shortest || t.Interval > longest {
		return exit.Usagef("top: --interval %v: want %v to %v", t.Interval, shortest, longest)
	}
	view, ok := viewOf(c.String("view"))
	if !ok {
		return exit.Usagef("top: --view %q: want all, lcores, vrfs, workers or drops", c.String("view"))
	}
	t.View = view
	d := control.NewClient(c.String("socket"))
	defer d.Close()
	if c.Bool("once") {
		return once(d, &t, c.App.Writer)
	}
	in, out := file(c.App.Reader), file(c.App.Writer)
	if in == nil || out == nil {
		return exit.Usagef("top: there is no terminal: use --once")
	}
	if err := interact(d, &t, in, out); err != nil {
		return fmt.Errorf("top: %w", err)
	}
	return nil
}

func viewOf(name string) (render.View, bool) {
	for v := range render.NViews {
		if strings.EqualFold(v.String(), name) {
			return v, true
		}
	}
	return 0, false
}

// file is a stream as a terminal, nil when it is none.
func file(stream any) *os.File {
	f, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return f
}

// once prints the view of one interval.
func once(d *control.Client, t *render.Top, w io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if t.Prev, err = d.Snapshot(ctx, 0); err != nil {
		return fmt.Errorf("top: %w", err)
	}
	select {
	case <-ctx.Done():
		return fmt.Errorf("top: %w", ctx.Err())
	case <-time.After(t.Interval):
	}
	if t.Cur, err = d.Snapshot(ctx, 0); err != nil {
		return fmt.Errorf("top: %w", err)
	}
	width := 80
	if f := file(w); f != nil {
		width, _ = size(f)
	}
	_, err = io.WriteString(w, strings.Join(t.Lines(width, 0), "\n")+"\n")
	return err
}

// size is the size of a terminal, 80x24 when it does not say.
func size(f *os.File) (width, height int) {
	w, h, err := term.GetSize(int(f.Fd()))
	if err != nil || w <= 0 || h <= 0 {
		return 80, 24
	}
	return w, h
}

// interact takes the terminal over, until q. The first snapshot comes before
// that, so that a missing daemon is a plain error.
func interact(d *control.Client, t *render.Top, in, out *os.File) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	first, err := d.Snapshot(ctx, 0)
	if err != nil {
		return err
	}
	t.Cur = first
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGWINCH, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	_, _ = io.WriteString(out, "\x1b[?1049h\x1b[?25l\x1b[2J") // the alternate screen, without a cursor
	defer func() {
		_, _ = io.WriteString(out, "\x1b[?25h\x1b[?1049l")
		_ = term.Restore(int(in.Fd()), before)
	}()
	l := &loop{Top: t, daemon: d, ctx: ctx, out: out, events: make(chan event, 8), keys: make(chan string, 64)}
	go readKeys(in, l.keys)
	return l.run(signals)
}

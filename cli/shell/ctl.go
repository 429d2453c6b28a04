package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"edemux/cli/command"
	"edemux/cli/control"
	"edemux/cli/exit"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"
)

// socketFlag is shared by all clients of the daemon.
func socketFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "socket", Value: control.DefaultSocket, EnvVars: []string{"EDEMUX_SOCKET"},
		Usage: "control socket of the daemon: a `PATH`",
	}
}

// CtlCommand is `edemux ctl`.
func CtlCommand() *cli.Command {
	return &cli.Command{
		Name:      "ctl",
		Usage:     "carry out one command in the running daemon",
		ArgsUsage: "COMMAND...",
		Description: "The commands are those of `edemux shell`; `edemux ctl help` lists them, `edemux ctl help show`\n" +
			"explains some. Words may be shortened while they stay clear: `edemux ctl sh vrf`.\n\n" +
			"Examples:\n" +
			"  edemux ctl show vrfs\n" +
			"  edemux ctl early-demux udp off red\n" +
			"  edemux ctl show flows --filter 'udp and port 53' --limit 20 --json",
		Flags: []cli.Flag{
			socketFlag(),
			&cli.BoolFlag{Name: "json", Usage: "print the daemon's answer as JSON"},
		},
		SkipFlagParsing: true, // options belong to the command, except the two above
		HideHelpCommand: true, // `ctl help` is a command of the daemon
		Action:          ctlAction,
	}
}

func ctlAction(c *cli.Context) error {
	a, err := ctlArgs(c.Args().Slice(), os.Getenv("EDEMUX_SOCKET"))
	if err != nil {
		return err
	}
	if a.help {
		return cli.ShowCommandHelp(c, c.Command.Name)
	}
	line, err := command.ParseLine(command.Join(a.words))
	switch {
	case err == nil && line.Command == nil:
		err = errors.New("want a command: edemux ctl help lists them")
	case err == nil && (line.Watch != 0 || line.Match != nil):
		err = errors.New("`watch` and `| match` belong to edemux shell")
	}
	if _, ok := line.Command.(command.Exit); ok {
		err = fmt.Errorf("unknown command %q", line.Text)
	}
	if err != nil {
		return exit.Usagef("ctl: %w", err)
	}
	line.JSON = line.JSON || a.json
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	x := newExecutor(a.socket, c.App.Writer, c.App.ErrWriter)
	x.where = command.InCtl
	defer x.daemon.Close()
	if err := x.run(ctx, &line); err != nil {
		return fmt.Errorf("ctl: %w", err)
	}
	return nil
}

func newExecutor(socket string, out, notes io.Writer) *executor {
	fd, tty := terminalOf(out)
	return &executor{
		daemon: control.NewClient(socket), where: command.InCtl | command.InShell, out: out, notes: notes, tty: tty,
		width: func() int {
			if !tty {
				return 0
			}
			w, _ := terminalSize(fd)
			return w
		},
	}
}

// terminalOf tells whether a stream is a terminal, and its descriptor.
func terminalOf(stream any) (fd int, ok bool) {
	f, ok := stream.(*os.File)
	if !ok {
		return -1, false
	}
	return int(f.Fd()), term.IsTerminal(int(f.Fd()))
}

// terminalSize is the size of a terminal, 80x24 when it does not say.
func terminalSize(fd int) (width, height int) {
	w, h, err := term.GetSize(fd)
	if err != nil || w <= 0 || h <= 0 {
		return 80, 24
	}
	return w, h
}

// ctlLine is the command line of ctl, taken apart.
type ctlLine struct {
	socket     string
	json, help bool
	words      []string
}

// ctlArgs takes ctl's own options out of its arguments; they may stand
// anywhere before a `--`. Everything else is the command.
func ctlArgs(args []string, socket string) (ctlLine, error) {
	a := ctlLine{socket: socket}
	for i := 0; i < len(args); i++ {
		w := args[i]
		value, isSocket := strings.CutPrefix(w, "--socket=")
		switch {
		case w == "--":
			a.words = append(a.words, args[i+1:]...)
			return a, nil
		case isSocket:
			a.socket = value
		case w == "--socket":
			if i++; i == len(args) {
				return a, exit.Usagef("ctl: --socket: want a PATH")
			}
			a.socket = args[i]
		case w == "--json":
			a.json = true
		case len(a.words) == 0 && (w == "--help" || w == "-h"):
			a.help = true
		case len(a.words) == 0 && strings.HasPrefix(w, "-"):
			return a, exit.Usagef("ctl: unknown flag %s (see edemux ctl --help)", w)
		default:
			a.words = append(a.words, w)
		}
	}
	return a, nil
}

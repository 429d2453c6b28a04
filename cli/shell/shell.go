package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"edemux/cli/command"
	"edemux/cli/control"
	"edemux/cli/exit"

	"github.com/urfave/cli/v2"
)

// ShellCommand is `edemux shell`.
func ShellCommand() *cli.Command {
	return &cli.Command{
		Name:  "shell",
		Usage: "work with the running daemon interactively",
		Description: "`?` says what may come next, Tab completes, also the names of VRFs, sockets and workers; words\n" +
			"may be shortened. `| json` and `| match RE` filter, `watch 2 show vrfs` repeats until Ctrl-C.\n" +
			"Without a terminal commands are read from the standard input, one a line, # begins a comment;\n" +
			"the first error ends it.\n\n" +
			"Examples:\n" +
			"  edemux shell\n" +
			"  edemux shell < commands.txt\n" +
			"  echo 'show drops | json' | edemux shell",
		Flags:  []cli.Flag{socketFlag()},
		Action: shellAction,
	}
}

func shellAction(c *cli.Context) error {
	if c.NArg() > 0 {
		return exit.Usagef("shell: unexpected argument %q (for one command: edemux ctl %s)", c.Args().First(), strings.Join(c.Args().Slice(), " "))
	}
	x := newExecutor(c.String("socket"), c.App.Writer, c.App.ErrWriter)
	defer x.daemon.Close()
	if _, ok := terminalOf(c.App.Reader); !ok || !x.tty {
		return batch(x, c.App.Reader)
	}
	return interact(x, c.App.Reader.(*os.File), c.App.Writer.(*os.File))
}

// batch carries out the lines of in until one fails.
func batch(x *executor, in io.Reader) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	sc := bufio.NewScanner(in)
	sc.Buffer(nil, 1<<20)
	n := 0
	for sc.Scan() {
		n++
		text := strings.TrimSpace(sc.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		line, err := command.ParseLine(text)
		if _, ok := line.Command.(command.Exit); ok && err == nil {
			return nil
		}
		if err == nil && line.Watch != 0 {
			err = errors.New("watch needs a terminal")
		}
		if err == nil {
			err = x.run(ctx, &line)
		}
		if err != nil {
			return fmt.Errorf("shell: line %d: %v", n, err) // not %w: whatever it was, the code is 1
		}
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("shell: line %d: %w", n+1, err)
	}
	return nil
}

// session is an interactive shell.
type session struct {
	*executor
	term    *terminal
	objects *objects
	known   control.Version // of the daemon that answered last
	back    chan struct{}   // closed when the goroutine that waits for the daemon ends
}

func interact(x *executor, in, out *os.File) error {
	known, err := x.daemon.Version(context.Background())
	if err != nil {
		return fmt.Errorf("shell: %w", err)
	}
	h, herr := openHistory(historyPath())
	s := &session{executor: x, objects: newObjects(x.daemon), known: *known}
	if s.term, err = newTerminal(in, out, h, s.objects.list); err != nil {
		return fmt.Errorf("shell: %w", err)
	}
	defer s.term.close()
	x.out, x.notes = s.term.out, s.term.out
	s.term.say(fmt.Sprintf("edemux %s at %s, pid %d. `?` lists what may come next, `help` explains.\n", known.Edemux, x.daemon.Socket(), known.PID))
	if herr != nil {
		s.term.say("edemux: " + herr.Error() + ": this session is not remembered\n")
	}
	return s.loop()
}

func (s *session) loop() error {
	for {
		text, err := s.term.readLine()
		switch {
		case errors.Is(err, errInterrupt):
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("shell: %w", err)
		}
		line, err := command.ParseLine(text)
		if err != nil {
			s.complain(err)
			continue
		}
		switch line.Command.(type) {
		case nil:
			continue
		case command.Exit:
			return nil
		}
		s.perform(&line)
	}
}

// complain prints an error; a mistake in the line with a mark under it.
func (s *session) complain(err error) {
	var e *command.Error
	if errors.As(err, &e) {
		pad := strings.Repeat(" ", len(s.term.prompt))
		_, mark, _ := strings.Cut(e.Caret(), "\n")
		if width, _ := terminalSize(int(s.term.out.Fd())); len(pad)+len(mark) <= width {
			s.term.say(pad + mark + "\n")
		}
		s.term.say(e.Msg + "\n")
		return
	}
	s.term.say("edemux: " + strings.ReplaceAll(err.Error(), "\n", "; ") + "\n")
}

// perform runs a command, once or until Ctrl-C.
func (s *session) perform(line *command.Line) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s.checkDaemon(ctx)
	var err error
	if line.Watch != 0 {
		err = s.watch(ctx, line)
	} else {
		err = s.run(ctx, line)
	}
	s.objects.forget()
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		s.term.say("^C\n")
	case errors.Is(err, control.ErrNoDaemon):
		s.complain(err)
		s.awaitDaemon()
	case err != nil:
		s.complain(err)
	}
}

// checkDaemon says when another daemon answers than did before.
func (s *session) checkDaemon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if v, err := s.daemon.Version(ctx); err == nil {
		s.greet(v)
	}
}

func (s *session) greet(v *control.Version) {
	if v.PID != s.known.PID || !v.Started.Equal(s.known.Started) {
		s.term.say(fmt.Sprintf("the daemon was restarted at %s (pid %d): counters and live changes began anew\n", v.Started.Local().Format("15:04:05"), v.PID))
	}
	s.known = *v
}

// awaitDaemon has a goroutine look for the daemon until it is back, and say so
// above whatever is being typed.
func (s *session) awaitDaemon() {
	if s.back != nil {
		select {
		case <-s.back:
		default:
			return
		}
	}
	s.back = make(chan struct{})
	go func(done chan struct{}) {
		defer close(done)
		for range time.Tick(250 * time.Millisecond) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			v, err := s.daemon.Version(ctx)
			cancel()
			if err == nil {
				s.term.say(fmt.Sprintf("the daemon answers again (pid %d)\n", v.PID))
				return
			}
		}
	}(s.back)
}

package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"

	"edemux/cli/command"
	"edemux/cli/control"
	"edemux/cli/exit"
	"edemux/cli/render"
)

// executor carries out commands. One command at a time.
type executor struct {
	daemon *control.Client
	where  command.Where // for help
	out    io.Writer
	notes  io.Writer // what is not the answer: where a capture went
	tty    bool      // out is a terminal: no binary
	width  func() int
}

// run carries out one line and prints the answer.
func (x *executor) run(ctx context.Context, l *command.Line) error {
	var b strings.Builder
	err := x.print(ctx, l, &b)
	if b.Len() > 0 {
		if _, e := io.WriteString(x.out, b.String()); err == nil && e != nil {
			err = e
		}
	}
	return err
}

// print is run with the text of the answer to b, filtered by `| match`.
func (x *executor) print(ctx context.Context, l *command.Line, b *strings.Builder) error {
	switch c := l.Command.(type) {
	case command.Help:
		text, err := command.HelpText(c.Topic, x.where)
		b.WriteString(text)
		return err
	case command.Capture:
		return x.explainError(l, x.dump(c.Out, func(w io.Writer) (control.DumpStats, error) {
			return x.daemon.Capture(ctx, control.CaptureQuery{Filter: c.Filter, Count: c.Count, Duration: c.Duration}, w)
		}))
	case command.Recorder:
		return x.explainError(l, x.dump(c.Out, func(w io.Writer) (control.DumpStats, error) { return x.daemon.Recorder(ctx, w) }))
	}
	answer, err := x.ask(ctx, l.Command)
	if err != nil {
		return x.explainError(l, err)
	}
	var all strings.Builder
	if l.JSON {
		enc := json.NewEncoder(&all)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		err = enc.Encode(answer)
	} else {
		err = render.Answer(&all, answer, x.width())
	}
	if l.Match == nil {
		b.WriteString(all.String())
		return err
	}
	for line := range strings.Lines(all.String()) {
		if l.Match.MatchString(strings.TrimRight(line, "\n")) {
			b.WriteString(line)
		}
	}
	return err
}

// explainError puts the command before what the daemon refused; an error of
// the connection names the socket already.
func (x *executor) explainError(l *command.Line, err error) error {
	var e *control.Error
	if !errors.As(err, &e) {
		return err
	}
	err = fmt.Errorf("%s: %s", l.Text, strings.ReplaceAll(e.Message, "\n", "; "))
	if e.Code == control.CodeBadRequest || e.Code == control.CodeConfig {
		return exit.AsUsage(err)
	}
	return err
}

// ask sends a command and returns a pointer to one of control's answers.
func (x *executor) ask(ctx context.Context, cmd command.Command) (any, error) {
	d := x.daemon
	switch c := cmd.(type) {
	case command.Show:
		return x.show(ctx, c)
	case command.EarlyDemux:
		if c.On == nil {
			return answer(d.EarlyDemux(ctx, c.VRF))
		}
		return answer(d.SetEarlyDemux(ctx, control.SetEarlyDemux{Proto: c.Proto, On: *c.On, VRF: c.VRF}))
	case command.Sysctl:
		if !c.Set {
			return answer(d.Sysctl(ctx, c.Name, c.VRF))
		}
		return answer(d.SetSysctl(ctx, control.SetSysctl{Name: c.Name, Value: c.Value, VRF: c.VRF}))
	case command.Explain:
		return answer(d.Explain(ctx, control.Explain{Proto: c.Proto, Src: c.Src.String(), Dst: c.Dst.String(), Dev: c.Dev}))
	case command.Bind:
		return answer(d.Bind(ctx, c.Spec))
	case command.Connect:
		if c.Spec != "" {
			return answer(d.Connect(ctx, control.Connect{Spec: c.Spec}))
		}
		r := control.Connect{Socket: c.Socket, Remote: c.Faddr.String()}
		if c.Laddr != (netip.Addr{}) {
			r.Laddr = c.Laddr.String()
		}
		return answer(d.Connect(ctx, r))
	case command.Close:
		return answer(d.CloseSocket(ctx, c.Socket))
	case command.ClearCounters:
		return answer(d.ClearCounters(ctx))
	case command.Reload:
		return answer(d.Reload(ctx))
	case command.Shutdown:
		return answer(d.Shutdown(ctx))
	}
	return nil, fmt.Errorf("%T: not a command for the daemon", cmd)
}

func (x *executor) show(ctx context.Context, c command.Show) (any, error) {
	d := x.daemon
	switch c.What {
	case "config":
		return answer(d.Config(ctx))
	case "drops":
		return answer(d.Drops(ctx, c.VRF))
	case "flows":
		return answer(d.Flows(ctx, control.FlowQuery{VRF: c.VRF, Filter: c.Filter, Limit: c.Limit, After: c.After}))
	case "groups":
		return answer(d.Groups(ctx, c.Name))
	case "lcores":
		return answer(d.Lcores(ctx))
	case "mib":
		if c.VRF != "" {
			return nil, exit.Usagef("show mib: the kernel's counters are kept for all VRFs together: leave %q out", c.VRF)
		}
		return answer(d.MIB(ctx))
	case "ports":
		return answer(d.Ports(ctx, c.Name))
	case "sockets":
		return answer(x.sockets(ctx, c))
	case "version":
		return answer(d.Version(ctx))
	case "vrfs":
		return answer(d.VRFs(ctx, c.VRF))
	case "workers":
		return answer(d.Workers(ctx, c.Name))
	}
	return nil, fmt.Errorf("show %s: this program knows no such answer", c.What)
}

// sockets joins the pages: the command has no cursor.
func (x *executor) sockets(ctx context.Context, c command.Show) (*control.Sockets, error) {
	q := control.SocketQuery{Name: c.Name, VRF: c.VRF, Limit: control.MaxRows}
	all, err := x.daemon.Sockets(ctx, q)
	for err == nil && all.After != "" {
		q.After = all.After
		var next *control.Sockets
		if next, err = x.daemon.Sockets(ctx, q); err == nil {
			all.Sockets, all.After = append(all.Sockets, next.Sockets...), next.After
		}
	}
	return all, err
}

// answer makes a nil pointer with an error a plain nil.
func answer[T any](a *T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return a, nil
}

// dump writes a pcapng to a file, or to the standard output unless that is a
// terminal.
func (x *executor) dump(file string, write func(io.Writer) (control.DumpStats, error)) error {
	out := x.out
	if file == "" || file == "-" {
		if x.tty {
			return exit.Usagef("a capture is binary: give --out FILE, not the terminal")
		}
		file = "standard output"
	} else {
		f, err := os.Create(file)
		if err != nil {
			return err
		}
		defer f.Close()
		out = f
	}
	n := &counter{w: out}
	stats, err := write(n)
	if f, ok := out.(*os.File); ok && out != x.out && err == nil {
		err = f.Close()
	}
	if err != nil && out != x.out && n.bytes == 0 {
		os.Remove(file) // not even a header came
	}
	if err == nil {
		note := ""
		if stats.Missed > 0 {
			note = fmt.Sprintf("; %d packets came too fast and are missing", stats.Missed)
		}
		fmt.Fprintf(x.notes, "wrote %d bytes to %s%s\n", n.bytes, file, note)
	}
	return err
}

type counter struct {
	w     io.Writer
	bytes int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.bytes += int64(n)
	return n, err
}

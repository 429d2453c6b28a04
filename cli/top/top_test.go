package top

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"edemux/cli/control"
	"edemux/cli/exit"
	"edemux/cli/shell/shelltest"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"
)

// asProgram makes the test binary behave as `edemux top`.
const asProgram = "EDEMUX_TOP_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	app := &cli.App{Name: "edemux", Commands: []*cli.Command{Command()}, ExitErrHandler: func(*cli.Context, error) {}}
	err := app.Run(os.Args)
	if err == nil {
		os.Exit(exit.OK)
	}
	os.Stderr.WriteString("edemux: " + err.Error() + "\n")
	var e *exit.Error
	if errors.As(err, &e) {
		os.Exit(e.Code)
	}
	os.Exit(exit.Failure)
}

type fixture struct {
	*shelltest.Daemon
	t      *testing.T
	socket string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	dir, err := os.MkdirTemp("", "edx") // a socket's path has 107 bytes at most
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	f := &fixture{t: t, socket: filepath.Join(dir, "s")}
	f.Daemon = shelltest.NewDaemon(t, f.socket)
	return f
}

func (f *fixture) command(args ...string) *exec.Cmd {
	self, err := os.Executable()
	require.NoError(f.t, err)
	cmd := exec.Command(self, append([]string{"top"}, args...)...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "GORACE=atexit_sleep_ms=0", "EDEMUX_SOCKET="+f.socket, "TERM=xterm")
	return cmd
}

func (f *fixture) top(width, height int, args ...string) *shelltest.Session {
	f.t.Helper()
	s := shelltest.Start(f.t, f.command(append(args, "--interval", "100ms")...), width, height)
	shows(s, "edemux top")
	return s
}

// shows waits until a text is on the screen.
func shows(s *shelltest.Session, text string) string {
	return s.Show("\""+text+"\"", func(l []string) bool { return strings.Contains(strings.Join(l, "\n"), text) })
}

func TestViews(t *testing.T) {
	f := newFixture(t)
	s := f.top(80, 24)
	text := s.Show("the second snapshot", func(l []string) bool { return strings.Contains(l[0], "snapshot 102") && len(l) == 24 })
	for _, want := range []string{"1.73M packets/s", "deliver 99.7%", "web/1", "NO_SOCKET", "eth0/1", "100.0%", "[1 all]", "no socket is bound to this address\n"} {
		require.Contains(t, text, want)
	}
	for _, v := range []struct{ key, tab, has string }{
		{"2", "[2 lcores]", "MAX GAP"}, {"3", "[3 VRFs]", "> default"}, {"4", "[4 workers]", "HANDLER"}, {"5", "[5 drops]", "MEANING"}, {"1", "[1 all]", "MEANING"},
		{"\t", "[2 lcores]", "QUEUES"}, {"\x1b[D", "[1 all]", "QUEUES"}, {"\x1bOC", "[2 lcores]", "QUEUES"},
	} {
		s.Send(v.key)
		shows(s, v.tab)
		require.Contains(t, s.Screen(), v.has)
	}
	s.Send("h")
	shows(s, "share of early-demux lookups that found a flow")
	s.Send("h4s")
	shows(s, "WORKER*")
	s.Send("sss")
	require.Contains(t, shows(s, "PPS*"), "web/0")
	s.Show("the busiest worker on top", func(l []string) bool { return len(l) > 5 && strings.HasPrefix(l[5], "web/0") })
	s.Send("r")
	s.Show("the idlest worker on top", func(l []string) bool { return len(l) > 5 && strings.HasPrefix(l[5], "dns/0") })
	s.Send("1s")
	shows(s, "choose a view with 2 to 5 to sort it")
	s.Send("+")
	shows(s, "every 200ms")
	s.Send("-------")
	shows(s, "every 100ms")
	s.Send(" ")
	shows(s, "HELD")
	s.Send("q")
	require.Equal(t, 0, s.Exit())
	require.True(t, s.Cooked())
	s.Show("what was there before", func(l []string) bool { return len(l) == 0 })
}

func TestSwitches(t *testing.T) {
	f := newFixture(t)
	s := f.top(80, 24)
	s.Send("u")
	shows(s, "press 3 and choose a VRF")
	require.Empty(t, f.Requests("PUT"), "no switch without a VRF in sight")
	s.Send("3")
	shows(s, "> default")
	s.Send("\x1b[B")
	shows(s, "> red      on  on   off")
	s.Send("u")
	shows(s, "> red      on  on   on")
	shows(s, "early demux: udp true in VRF red")
	s.Send("t")
	shows(s, "> red      on  off  on")
	s.Send("\x1b[Ai")
	shows(s, "> default  off  (on)  (on)")
	require.Equal(t, []string{
		`PUT /v1/early-demux {"proto":"udp","on":true,"vrf":"red"}`, `PUT /v1/early-demux {"proto":"tcp","on":false,"vrf":"red"}`,
		`PUT /v1/early-demux {"proto":"ip","on":false,"vrf":"default"}`,
	}, f.Requests("PUT"))
	f.Refuse("PUT", &control.Error{Status: 403, Code: control.CodeReadOnly, Message: "this socket changes nothing"})
	s.Send("i")
	shows(s, "this socket changes nothing")
	require.NotContains(t, s.Screen(), "trying again")
	s.Send("\x03")
	require.Equal(t, 0, s.Exit())
}

func TestDaemonRestarts(t *testing.T) {
	f := newFixture(t)
	s := f.top(80, 24)
	f.Stop()
	shows(s, "no daemon answers there")
	require.Contains(t, s.Screen(), "web/1", "the last picture stays")
	f.Start()
	shows(s, "the daemon answers again")
	s.Send("q")
	require.Equal(t, 0, s.Exit())
}

func TestResize(t *testing.T) {
	f := newFixture(t)
	s := f.top(80, 24)
	s.Resize(60, 12)
	s.Show("twelve lines", func(l []string) bool { return len(l) == 12 && strings.HasPrefix(l[11], "q quit") })
	s.Resize(120, 40)
	s.Show("forty lines", func(l []string) bool {
		return len(l) == 40 && strings.HasPrefix(l[39], "q quit") && strings.HasPrefix(l[0], "edemux top")
	})
	s.Signal(os.Interrupt)
	require.Equal(t, 0, s.Exit())
	require.True(t, s.Cooked())
}

func TestOnce(t *testing.T) {
	f := newFixture(t)
	cmd := f.command("--once", "--interval", "100ms", "--view", "vrfs")
	out, err := cmd.Output()
	require.NoError(t, err)
	lines := strings.Split(string(out), "\n")
	require.Contains(t, lines[0], "snapshot 102")
	require.Equal(t, "VRF      IP  TCP  UDP   PPS  DROP/s  TCP hit   skip  UDP hit  skip  FLOWS", lines[4])
	require.Equal(t, "red      on  on   off  802k   1.50k   100.0%  50.0%        -     -  5.00k", lines[6])
	require.Len(t, lines, 8)
	require.NotContains(t, string(out), "\x1b")
	s := shelltest.Start(t, f.command("--once", "--interval", "100ms"), 80, 40)
	shows(s, "NO_VRF")
	require.Equal(t, 0, s.Exit())
}

func TestErrors(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{2, "top: there is no terminal: use --once", nil},
		{2, `top: unexpected argument "x" (see edemux top --help)`, []string{"x"}},
		{2, "top: --interval 1ms: want 100ms to 1m0s", []string{"--interval", "1ms"}},
		{2, `top: --view "flows": want all, lcores, vrfs, workers or drops`, []string{"--view", "flows"}},
		{1, "top: /nowhere/s: no daemon answers there: is `edemux run` running, with this control socket?", []string{"--once", "--socket", "/nowhere/s"}},
	} {
		cmd := f.command(c.args...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		require.Error(t, cmd.Run())
		require.Equal(t, c.code, cmd.ProcessState.ExitCode())
		require.Equal(t, "edemux: "+c.want+"\n", errs.String())
	}
	f.Stop()
	s := shelltest.Start(t, f.command(), 80, 24)
	shows(s, "no daemon answers there")
	require.Equal(t, 1, s.Exit())
	require.True(t, s.Cooked())
}

func TestSplitKeys(t *testing.T) {
	for in, want := range map[string][]string{
		"q1": {"q", "1"}, "\x1b[A\x1bOB": {"up", "down"}, "\x1b[1;5Cx": {"x"}, "\x1bq": {"q"}, "\x1b[200~a": {"a"}, "a\x1b": {"a"}, "a\x1b[": {"a"}, "\x1b[1;": nil,
	} {
		keys, rest := splitKeys([]byte(in))
		require.Equal(t, want, keys, "%q", in)
		if strings.HasSuffix(in, "\x1b") || strings.HasSuffix(in, "[") || strings.HasSuffix(in, ";") {
			require.NotEmpty(t, rest)
		} else {
			require.Empty(t, rest)
		}
	}
	keys, rest := splitKeys([]byte("\x1b[" + strings.Repeat("1", 40)))
	require.Empty(t, keys)
	require.Empty(t, rest, "not a key: forgotten")
}

package shell

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"edemux/cli/daemon"
	"edemux/cli/exit"
	"edemux/cli/shell/shelltest"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"
)

// asProgram makes the test binary behave as edemux with the commands of this
// package, so that sessions run a real process on a real terminal.
const asProgram = "EDEMUX_SHELL_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	os.Exit(program(os.Args))
}

func version() string { return "test" }

func program(args []string) int {
	app := &cli.App{Name: "edemux", Commands: []*cli.Command{CtlCommand(), ShellCommand(), daemon.Command(version, version)}, ExitErrHandler: func(*cli.Context, error) {}}
	err := app.Run(args)
	if err == nil {
		return exit.OK
	}
	os.Stderr.WriteString("edemux: " + err.Error() + "\n")
	var e *exit.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return exit.Failure
}

// fixture is a daemon and a home folder.
type fixture struct {
	*shelltest.Daemon
	t      *testing.T
	socket string
	state  string
	dir    string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := newPlace(t)
	f.Daemon = shelltest.NewDaemon(t, f.socket)
	return f
}

// newPlace is a fixture without a daemon.
func newPlace(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, dir: t.TempDir()}
	sock, err := os.MkdirTemp("", "edx") // a socket's path has 107 bytes at most
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(sock) })
	f.socket = filepath.Join(sock, "s")
	f.state = filepath.Join(f.dir, "state")
	return f
}

func (f *fixture) command(args ...string) *exec.Cmd {
	self, err := os.Executable()
	require.NoError(f.t, err)
	cmd := exec.Command(self, args...)
	cmd.Dir = f.dir
	// The race detector's runtime would wait a second at each exit.
	cmd.Env = append(os.Environ(), asProgram+"=1", "GORACE=atexit_sleep_ms=0", "EDEMUX_SOCKET="+f.socket, "XDG_STATE_HOME="+f.state, "TERM=xterm", "TZ=UTC")
	return cmd
}

// shell starts a session and waits for its prompt.
func (f *fixture) shell(width, height int) *shelltest.Session {
	f.t.Helper()
	s := shelltest.Start(f.t, f.command("shell"), width, height)
	s.Prompt("edemux>")
	return s
}

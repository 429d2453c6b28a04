//go:build dpdk

package dpdkrun_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"edemux/cli"
	"edemux/cli/control"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const (
	asProgram = "EDEMUX_DPDKRUN_PROGRAM" // the process is edemux
	aloneAs   = "EDEMUX_DPDKRUN_TEST"    // the process runs one test, in a namespace
)

// TestMain makes this binary the program as well, because a process has one EAL.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(cli.Main(append([]string{"edemux"}, os.Args[1:]...), os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// need fails in strict runs and skips elsewhere when something is absent.
func need(t testing.TB, ok bool, what string) {
	t.Helper()
	if ok {
		return
	}
	if os.Getenv("EDEMUX_STRICT") == "1" {
		t.Fatalf("this machine lacks %s", what)
	}
	t.Skipf("this machine lacks %s", what)
}

// inNetns runs the calling test in a process with a network namespace of its own,
// which ends with it. True in that process, false in the one that waited.
func inNetns(t *testing.T) bool {
	t.Helper()
	need(t, os.Getuid() == 0, "root")
	if os.Getenv(aloneAs) == t.Name() {
		return true
	}
	c := exec.Command(os.Args[0], "-test.run=^"+regexp.QuoteMeta(t.Name())+"$", "-test.v", "-test.timeout=90s")
	c.Env = append(os.Environ(), aloneAs+"="+t.Name())
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	out, err := c.CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
	return false
}

// edemux is a command line of the program.
func edemux(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), asProgram+"=1")
	return c
}

// lines is output that may be read while it grows.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// daemon is a running `edemux run`.
type daemon struct {
	*control.Client
	t        *testing.T
	cmd      *exec.Cmd
	dir      string
	prefix   string
	out, log lines
}

var prefixes int

// run starts the daemon with a configuration in which DIR stands for a folder, and
// waits until it polls.
func run(t *testing.T, yaml string) *daemon {
	t.Helper()
	d := begin(t, yaml)
	d.Client = control.NewClient(filepath.Join(d.dir, "s"))
	t.Cleanup(d.Client.Close)
	d.until("polls", func() bool { return strings.Contains(d.log.String(), "msg=polling") })
	return d
}

// begin starts the daemon and does not wait.
func begin(t *testing.T, yaml string) *daemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "edx") // short: paths of unix sockets are bounded
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return beginIn(t, dir, yaml)
}

func beginIn(t *testing.T, dir, yaml string) *daemon {
	t.Helper()
	prefixes++
	d := &daemon{t: t, dir: dir, prefix: fmt.Sprintf("edemux-run-%d-%d", os.Getpid(), prefixes)}
	yaml = strings.ReplaceAll(yaml, "DIR", dir) + fmt.Sprintf("\ncontrol: {socket: %s/s, metrics: \"\"}\n", dir)
	file := filepath.Join(dir, "c.yaml")
	require.NoError(t, os.WriteFile(file, []byte(yaml), 0o600))
	d.start(file)
	return d
}

func (d *daemon) start(file string) {
	d.cmd = edemux("run", "-c", file, "--log", "text", "--", "--file-prefix", d.prefix, "--no-huge", "--no-shconf")
	d.cmd.Stdout, d.cmd.Stderr = &d.out, &d.log
	require.NoError(d.t, d.cmd.Start())
	d.t.Cleanup(func() {
		_ = d.cmd.Process.Kill()
		_ = d.cmd.Wait()
	})
}

// until waits for something that happens within ten seconds.
func (d *daemon) until(what string, ok func() bool) {
	d.t.Helper()
	for end := time.Now().Add(15 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		require.True(d.t, time.Now().Before(end), "never: %s\n%s", what, &d.log)
	}
}

// end stops the daemon as systemd would, and wants everything back.
func (d *daemon) end() {
	d.t.Helper()
	require.NoError(d.t, d.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(d.t, d.cmd.Wait(), "%s", &d.log)
	require.NotContains(d.t, d.log.String(), "level=ERROR")
	require.Contains(d.t, d.out.String(), "dpdk engine")
	require.NoDirExists(d.t, filepath.Join("/var/run/dpdk", d.prefix))
}

func (d *daemon) snapshot() *control.Snapshot {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s, err := d.Snapshot(ctx, 0)
	require.NoError(d.t, err)
	return s
}

// sh runs commands in the caller's network namespace.
func sh(t *testing.T, lines ...string) {
	t.Helper()
	for _, l := range lines {
		f := strings.Fields(l)
		out, err := exec.Command(f[0], f[1:]...).CombinedOutput()
		require.NoError(t, err, "%s: %s", l, out)
	}
}

// peer is a thread in a network namespace of its own; what in runs there.
type peer struct {
	tid int
	do  chan func()
}

func newPeer(t *testing.T) *peer {
	t.Helper()
	p := &peer{do: make(chan func())}
	born := make(chan error)
	go func() {
		runtime.LockOSThread() // and dies with it, so its namespace is no other goroutine's
		p.tid = unix.Gettid()
		born <- unix.Unshare(unix.CLONE_NEWNET)
		for f := range p.do {
			f()
		}
	}()
	require.NoError(t, <-born)
	t.Cleanup(func() { close(p.do) })
	return p
}

func (p *peer) in(f func()) {
	done := make(chan struct{})
	p.do <- func() { defer close(done); f() }
	<-done
}

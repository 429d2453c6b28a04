package edemux_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// buildDir holds the program under test for the life of the test process.
var buildDir string

func TestMain(m *testing.M) {
	var err error
	if buildDir, err = os.MkdirTemp("", "edemux-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(buildDir)
	os.Exit(code)
}

// build compiles the pure-Go program once, when the first test asks for it.
// EDEMUX_BIN names a program to test instead, such as one with DPDK.
var build = sync.OnceValues(func() (string, error) {
	bin := filepath.Join(buildDir, "edemux")
	if ready := os.Getenv("EDEMUX_BIN"); ready != "" {
		ready, err := filepath.Abs(ready)
		if err != nil {
			return "", err
		}
		return bin, os.Symlink(ready, bin)
	}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", bin, "./app/edemux")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build ./app/edemux: %w\n%s", err, out)
	}
	return bin, nil
})

// program returns the path of the program under test.
func program(t testing.TB) string {
	t.Helper()
	bin, err := build()
	require.NoError(t, err)
	return bin
}

// unavailable ends a test that needs something this machine lacks: a skip, or
// a failure under EDEMUX_STRICT=1.
func unavailable(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("EDEMUX_STRICT") == "1" {
		t.Fatalf("needs %s, and EDEMUX_STRICT=1 forbids to go on without", what)
	}
	t.Skipf("needs %s", what)
}

// result is what one run of the program left.
type result struct {
	code           int
	stdout, stderr []byte
}

// edemux runs the program. A run that ends by a signal or takes over a minute
// (a hang) fails the test.
func edemux(t testing.TB, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program(t), args...)
	cmd.Env = append(os.Environ(), "GOTRACEBACK=single")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	require.NoErrorf(t, ctx.Err(), "edemux %q: hangs", args)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	r := result{code: cmd.ProcessState.ExitCode(), stdout: stdout.Bytes(), stderr: stderr.Bytes()}
	require.GreaterOrEqualf(t, r.code, 0, "edemux %q: killed by a signal: %s", args, r.stderr)
	require.NotContainsf(t, string(r.stderr), "goroutine 1", "edemux %q: panic", args)
	return r
}

// edemuxOK runs the program and wants exit code 0.
func edemuxOK(t testing.TB, args ...string) result {
	t.Helper()
	r := edemux(t, args...)
	require.Equalf(t, 0, r.code, "edemux %q: %s", args, r.stderr)
	return r
}

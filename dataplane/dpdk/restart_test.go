//go:build dpdk

package dpdk

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const holdEnv = "EDEMUX_DPDK_HOLD"

// TestMain serves hold: with holdEnv set the process is no test but a program
// that starts EAL under that prefix, says so, and stays until its input ends.
func TestMain(m *testing.M) {
	prefix := os.Getenv(holdEnv)
	if prefix == "" {
		os.Exit(m.Run())
	}
	if _, err := Init(Options{Prefix: prefix, MemoryMB: 64, Extra: []string{"--no-huge", "--no-shconf", "--no-pci"}}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// hold starts such a program and returns its first line.
func hold(t *testing.T, prefix string) (c *exec.Cmd, line string) {
	t.Helper()
	c = exec.Command(os.Args[0])
	c.Env = append(os.Environ(), holdEnv+"="+prefix)
	in, err := c.StdinPipe()
	require.NoError(t, err)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = in.Close(); _ = c.Process.Kill(); _ = c.Wait() })
	line, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return c, line
}

func TestKilledAndStartedAgain(t *testing.T) {
	prefix := fmt.Sprintf("edemux-test-hold-%d", os.Getpid())
	dir := filepath.Join(runtimeDir(), prefix)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	first, line := hold(t, prefix)
	require.Equal(t, "ready\n", line)
	_, line = hold(t, prefix)
	require.Equal(t, fmt.Sprintf("EAL: file prefix %s: in use by process %d: stop it or choose another prefix\n", prefix, first.Process.Pid), line)
	removed, err := RemoveStale("")
	require.NoError(t, err)
	require.NotContains(t, removed, prefix)

	require.NoError(t, first.Process.Kill())
	_ = first.Wait()
	require.DirExists(t, dir, "kill -9 leaves it behind")
	again, line := hold(t, prefix)
	require.Equal(t, "ready\n", line, "starts at once in what was left")
	require.NoError(t, again.Process.Kill())
	_ = again.Wait()
	removed, err = RemoveStale("")
	require.NoError(t, err)
	require.Contains(t, removed, prefix)
	require.NoDirExists(t, dir)
}

//go:build dpdk

package dpdk

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// alone runs the calling test in a process of its own, because a process has one
// EAL for ever. It returns true in that process, false in the one that waited.
func alone(t *testing.T) bool { return isolated(t, &syscall.SysProcAttr{}) }

// aloneInNetns is alone in a network namespace that ends with the process.
func aloneInNetns(t *testing.T) bool {
	t.Helper()
	need(t, os.Getuid() == 0, "root")
	return isolated(t, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET})
}

func isolated(t *testing.T, how *syscall.SysProcAttr) bool {
	t.Helper()
	const mark = "EDEMUX_DPDK_TEST"
	if os.Getenv(mark) == t.Name() {
		return true
	}
	c := exec.Command(os.Args[0], "-test.run=^"+regexp.QuoteMeta(t.Name())+"$", "-test.v", "-test.timeout=60s")
	c.Env = append(os.Environ(), mark+"="+t.Name())
	c.SysProcAttr = how
	out, err := c.CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
	return false
}

// eal starts EAL as every machine can: ordinary pages, no PCI.
func eal(t testing.TB, cpus ...int) *EAL {
	t.Helper()
	e, err := Init(Options{
		CPUs: cpus, Prefix: fmt.Sprintf("edemux-test-%d", os.Getpid()), MemoryMB: 192,
		Extra: []string{"--no-huge", "--no-shconf", "--no-pci"},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// pool makes a pool that must be full again at the end of the test.
func pool(t testing.TB, e *EAL, n PoolNeed) *Pool {
	t.Helper()
	p, err := e.NewPool("pool", SizePool(n))
	require.NoError(t, err)
	t.Cleanup(func() {
		require.Zero(t, p.InUse(), "mbufs leaked")
		require.NoError(t, p.Close())
	})
	return p
}

// open opens and starts a port that closes before its pool does.
func open(t testing.TB, e *EAL, o PortOptions) *Port {
	t.Helper()
	p, err := e.OpenPort(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	require.NoError(t, p.Start())
	info := p.Info()
	t.Log(info.String())
	return p
}

// cpu is the last CPU of the machine, to poll on.
func cpu() int { return runtime.NumCPU() - 1 }

// need fails in strict runs and skips elsewhere when a tool or a right is absent.
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

// pcapFile writes frames as a capture with times one microsecond apart.
func pcapFile(t testing.TB, frames ...[]byte) string {
	t.Helper()
	le := func(v uint64, n int) (b []byte) {
		for range n {
			b = append(b, byte(v))
			v >>= 8
		}
		return b
	}
	out := append(le(0xa1b2c3d4, 4), le(2, 2)...)
	out = append(out, le(4, 2)...)
	out = append(out, le(0, 8)...)
	out = append(out, le(262144, 4)...)
	out = append(out, le(1, 4)...)
	for i, f := range frames {
		out = append(out, le(1700000000, 4)...)
		out = append(out, le(uint64(i), 4)...)
		out = append(out, le(uint64(len(f)), 4)...)
		out = append(out, le(uint64(len(f)), 4)...)
		out = append(out, f...)
	}
	path := filepath.Join(t.TempDir(), "frames.pcap")
	require.NoError(t, os.WriteFile(path, out, 0o644))
	return path
}

// poll polls until n frames came, calling see for each, or fails after 10 s.
func poll(t testing.TB, q *RxQueue, n int, see func(i int, b []byte)) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for got := 0; got < n; {
		fs := q.Poll()
		for i := range fs {
			see(i, fs[i].Data)
		}
		got += len(fs)
		if len(fs) == 0 {
			require.False(t, time.Now().After(deadline), "%d of %d frames after 10 s", got, n)
			time.Sleep(100 * time.Microsecond)
		}
	}
}

package daemon

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"edemux/cli/control"
	"edemux/cli/exit"
	"edemux/dataplane/capture"
	"edemux/dataplane/packet"
	"edemux/dataplane/port"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEveryFrameIsAccountedFor: a capture played 50 times over two queues and
// worker rings, then an orderly stop.
func TestEveryFrameIsAccountedFor(t *testing.T) {
	yaml := strings.Replace(base, "loop: 0", "loop: 50, speed: 200000pps", 1)
	r := start(t, yaml, mixed(100), func(o *Options) { o.UntilEnd = true })
	select {
	case err := <-r.result:
		r.result <- err
		require.NoError(t, err, r.log.String())
	case <-time.After(20 * time.Second):
		t.Fatal("does not end: ", r.log.String())
	}
	c := r.d.host.Engine.Counters()
	assert.EqualValues(t, 50*300, c.Frames)
	var packets uint64
	for i, w := range c.Workers {
		packets += w.Packets + w.Full
		if ring := r.d.host.Engine.Workers()[i].Ring; ring != nil {
			assert.Zero(t, ring.Len(), "rings are emptied")
		}
	}
	assert.EqualValues(t, 50*200, packets)
	assert.Contains(t, r.out.String(), "15,000 frames")
	assert.NoFileExists(t, filepath.Join(r.dir, "s"), "the socket goes with the daemon")
	assert.Contains(t, r.log.String(), `"msg":"polling"`)
	assert.Less(t, strings.Count(r.log.String(), "\n"), 20, "a line per packet")
}

func TestLcoresWork(t *testing.T) {
	yaml := "lcores: [0, 1, 2]\n" + strings.Replace(base, "loop: 0", "loop: 0, speed: 50000pps", 1)
	r := start(t, yaml, mixed(100))
	r.frames(5000)
	time.Sleep(1200 * time.Millisecond)
	l, err := r.Lcores(ctx(t))
	require.NoError(t, err)
	require.Len(t, l.Lcores, 2, "as many as queues")
	assert.Contains(t, r.log.String(), "fewer queues than lcores")
	for i, x := range l.Lcores {
		assert.Equal(t, "polling", x.State)
		assert.Equal(t, l.Epoch, x.Epoch)
		assert.Positive(t, x.Frames)
		assert.Positive(t, x.BusyNs)
		assert.Positive(t, x.IdleNs)
		assert.Positive(t, x.Busy)
		assert.Less(t, x.Busy, 1.0)
		assert.Positive(t, x.PPS)
		assert.Positive(t, x.MaxGapNs)
		assert.Equal(t, []string{[]string{"eth0/0", "eth0/1"}[i]}, x.Queues)
		assert.Positive(t, x.Recorded)
		var bursts uint64
		for _, n := range x.FillCounts {
			bursts += n
		}
		assert.InDelta(t, float64(x.Bursts), float64(bursts), 1)
	}
}

// TestRefusals: what is wrong with a start is said in one line.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{"ports: []\n", "run: C: no ports: add ports"},
		{"ports: [{name: eth0}]\n", "run: port eth0: no source: write source: {pcap: FILE} or {dpdk: DEVICE}"},
		{"ports: [{name: eth0, source: {pcap: none.pcap}}]\n", "run: port eth0: read capture: D/none.pcap: no such file or directory"},
		{"ports: [{name: eth0, source: {dpdk: net_null0}}]\n", "run: port eth0: dpdk: this edemux is built without DPDK"},
	} {
		r := prepare(t, c.yaml, mixed(1))
		saved := OpenDPDK
		OpenDPDK = nil
		err := Run(context.Background(), &Options{Config: r.file, Log: "json", Stdout: &r.out, Stderr: &r.log})
		OpenDPDK = saved
		require.Error(t, err, c.yaml)
		want := strings.NewReplacer("C:", r.file+":", "D/", r.dir+"/").Replace(c.want)
		assert.Contains(t, err.Error(), want)
		var e *exit.Error
		require.True(t, errors.As(err, &e), c.yaml)
		assert.Equal(t, exit.Usage, e.Code)
	}
	err := Run(context.Background(), &Options{Stderr: &bytes.Buffer{}})
	assert.ErrorContains(t, err, "run: want a configuration")
}

// TestSocketIsTaken: a second daemon on the same socket is refused, a socket
// that was left behind is not in the way.
func TestSocketIsTaken(t *testing.T) {
	r := start(t, base, mixed(1))
	err := Run(context.Background(), &Options{Config: r.file, Log: "json", Stdout: &r.out, Stderr: &lockedBuffer{}})
	assert.ErrorContains(t, err, "control socket "+r.dir+"/s: another edemux answers there")
	require.NoError(t, r.end())
	l, err := net.Listen("unix", filepath.Join(r.dir, "s"))
	require.NoError(t, err)
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	require.FileExists(t, filepath.Join(r.dir, "s"))
	c, cancel := context.WithCancel(context.Background())
	err = Run(c, &Options{Config: r.file, Log: "json", Stdout: &r.out, Stderr: &r.log, onStarted: func(*Daemon) { cancel() }})
	assert.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "s"), nil, 0o600))
	err = Run(context.Background(), &Options{Config: r.file, Log: "json", Stdout: &r.out, Stderr: &r.log})
	assert.ErrorContains(t, err, "a file of that name that is no socket")
}

func TestSocketMode(t *testing.T) {
	r := start(t, base, mixed(1))
	st, err := os.Stat(filepath.Join(r.dir, "s"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), st.Mode().Perm())
	st, err = os.Stat(filepath.Join(r.dir, "ro"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o666), st.Mode().Perm())
	ro := control.NewClient(filepath.Join(r.dir, "ro"))
	defer ro.Close()
	_, err = ro.VRFs(ctx(t), "")
	require.NoError(t, err)
	_, err = ro.SetEarlyDemux(ctx(t), control.SetEarlyDemux{Proto: "udp"})
	var e *control.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, control.CodeReadOnly, e.Code)
}

// badQueue panics when told.
type badQueue struct {
	port.RxQueue
	now atomic.Bool
}

func (b *badQueue) RxBurst(now int64) []packet.Frame {
	if b.now.Load() {
		b.RxQueue = nil
	}
	return b.RxQueue.RxBurst(now)
}

// TestPanic: a panic on an lcore becomes one error with its stack, the flight
// recorder is written, everything else stops in order.
func TestPanic(t *testing.T) {
	bad := &badQueue{}
	r := start(t, base, mixed(50), func(o *Options) {
		o.onOpen = func(d *Daemon) {
			bad.RxQueue = d.lcores[0].queues[0].RxQueue
			d.lcores[0].queues[0].RxQueue = bad
		}
	})
	r.frames(1000)
	bad.now.Store(true)
	var err error
	select {
	case err = <-r.result:
		r.result <- err
	case <-time.After(20 * time.Second):
		t.Fatal("still running")
	}
	require.ErrorContains(t, err, "run: lcore 0: panic: runtime error: invalid memory address or nil pointer dereference")
	assert.NotContains(t, err.Error(), "\n")
	log := r.log.String()
	assert.Contains(t, log, "lcore.go", "the stack")
	files, err := filepath.Glob(filepath.Join(r.dir, "edemux-recorder-*.pcapng"))
	require.NoError(t, err)
	require.Len(t, files, 1, log)
	rd, err := capture.Open(files[0], capture.Options{})
	require.NoError(t, err)
	defer rd.Close()
	n := 0
	for f := (packet.Frame{}); rd.Next(&f) == nil; n++ {
	}
	assert.GreaterOrEqual(t, n, 1000)
}

// TestNotify is systemd's side of Type=notify.
func TestNotify(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	defer l.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	r := start(t, base, mixed(1))
	require.NoError(t, r.end())
	b := make([]byte, 100)
	require.NoError(t, l.SetReadDeadline(time.Now().Add(5*time.Second)))
	n, err := l.Read(b)
	require.NoError(t, err)
	assert.Contains(t, string(b[:n]), "READY=1")
	n, err = l.Read(b)
	require.NoError(t, err)
	assert.Equal(t, "STOPPING=1", string(b[:n]))
}

func TestShutdownByClient(t *testing.T) {
	r := start(t, base, mixed(1))
	_, err := r.Shutdown(ctx(t))
	require.NoError(t, err)
	select {
	case err := <-r.result:
		r.result <- err
		assert.NoError(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("still running")
	}
	_, err = r.Version(ctx(t))
	assert.ErrorIs(t, err, control.ErrNoDaemon)
}

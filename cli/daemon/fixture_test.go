package daemon

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"edemux/cli/control"
	"edemux/dataplane/capture"
	"edemux/dataplane/packet"
	"edemux/dataplane/packet/packettest"

	"github.com/stretchr/testify/require"
)

// ctx bounds every request of the tests.
func ctx(t testing.TB) context.Context {
	c, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return c
}

// running is a daemon in this process, with a client.
type running struct {
	*control.Client
	t      testing.TB
	d      *Daemon
	dir    string
	file   string // configuration
	out    lockedBuffer
	log    lockedBuffer
	stop   context.CancelFunc
	result chan error
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// The peer of most packets, and our side.
var (
	client = netip.AddrFrom4([4]byte{10, 9, 0, 9})
	server = netip.AddrFrom4([4]byte{10, 0, 0, 1})
)

// udp is a datagram to our side.
func udp(sport, dport int) *packettest.Builder {
	return packettest.New().Eth(packettest.MAC{2, 0, 0, 0, 0, 9}, packettest.MAC{2, 0, 0, 0, 0, 1}).
		IPv4(peer(sport), server).UDP(uint16(sport), uint16(dport)).Payload([]byte("sixteen bytes ..."))
}

func peer(n int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 9 + byte(n>>16), byte(n >> 8), byte(n)})
}

// tcp is a segment to our side.
func tcp(sport, dport int, flags uint8) *packettest.Builder {
	return packettest.New().Eth(packettest.MAC{2, 0, 0, 0, 0, 9}, packettest.MAC{2, 0, 0, 0, 0, 1}).
		IPv4(peer(sport), server).TCP(uint16(sport), uint16(dport), flags).Seq(1, 1)
}

// writeCapture makes a capture with a frame each microsecond.
func writeCapture(t testing.TB, name string, frames []*packettest.Builder) {
	t.Helper()
	f, err := os.Create(name)
	require.NoError(t, err)
	w, err := capture.NewPcapWriter(f, packet.LinkEthernet)
	require.NoError(t, err)
	for i, b := range frames {
		x := b.Frame()
		x.TS = 1e18 + int64(i)*1000
		require.NoError(t, w.Write(&x))
	}
	require.NoError(t, w.Flush())
	require.NoError(t, f.Close())
}

// mixed are datagrams of n flows to port 53 and n to port 9000, and as many to
// nobody.
func mixed(n int) (all []*packettest.Builder) {
	for i := range n {
		all = append(all, udp(1024+i, 53), udp(1024+i, 9000), udp(1024+i, 7))
	}
	return all
}

// prepare writes the capture and the configuration, whose control section it
// adds.
func prepare(t testing.TB, yaml string, frames []*packettest.Builder) *running {
	t.Helper()
	r := &running{t: t, result: make(chan error, 1)}
	var err error
	r.dir, err = os.MkdirTemp("", "edx") // short: paths of unix sockets are bounded
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(r.dir) })
	writeCapture(t, filepath.Join(r.dir, "in.pcap"), frames)
	r.file = filepath.Join(r.dir, "c.yaml")
	r.write(yaml)
	r.Client = control.NewClient(filepath.Join(r.dir, "s"))
	t.Cleanup(r.Client.Close)
	return r
}

func (r *running) write(yaml string) {
	r.t.Helper()
	if !strings.Contains(yaml, "control:") {
		yaml = fmt.Sprintf("control: {socket: %s/s, metrics: \"127.0.0.1:0\"}\n", r.dir) + yaml
	}
	require.NoError(r.t, os.WriteFile(r.file, []byte(yaml), 0o600))
}

// start runs a daemon until the test ends.
func start(t testing.TB, yaml string, frames []*packettest.Builder, change ...func(*Options)) *running {
	t.Helper()
	r := prepare(t, yaml, frames)
	started := make(chan *Daemon, 1)
	o := &Options{
		Config: r.file, Log: "json", Recorder: true, Stdout: &r.out, Stderr: &r.log, CrashDir: r.dir, Version: "test",
		ReadOnly: filepath.Join(r.dir, "ro"), onStarted: func(d *Daemon) { started <- d },
	}
	for _, f := range change {
		f(o)
	}
	c, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() { r.result <- Run(c, o) }()
	select {
	case r.d = <-started:
	case err := <-r.result:
		require.NoError(t, err, "did not start: %s", r.log.String())
		t.Fatal("ended at once: ", r.log.String())
	case <-time.After(30 * time.Second):
		t.Fatal("did not start: ", r.log.String())
	}
	t.Cleanup(func() { r.end() })
	return r
}

// end stops the daemon and returns how it ended.
func (r *running) end() error {
	r.stop()
	select {
	case err := <-r.result:
		r.result <- err
		return err
	case <-time.After(30 * time.Second):
		r.t.Error("did not stop: ", r.log.String())
		return nil
	}
}

// frames waits until at least n frames were decided.
func (r *running) frames(n uint64) *control.Snapshot {
	r.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		s, err := r.Snapshot(ctx(r.t), 0)
		require.NoError(r.t, err)
		if s.Totals.Frames >= n {
			return s
		}
		require.True(r.t, time.Now().Before(end), "%d frames of %d", s.Totals.Frames, n)
	}
}

// base is a configuration with two sockets on one looping port.
const base = `
ports:
  - {name: eth0, queues: 2, source: {pcap: in.pcap, loop: 0}}
workers:
  - {name: web, count: 4}
  - {name: dns, count: 2, ring: 4096, lcores: [0]}
sockets:
  - {name: dns, proto: udp, bind: "0.0.0.0:53", workers: dns}
  - {name: web, proto: udp, bind: "0.0.0.0:9000", workers: web}
`

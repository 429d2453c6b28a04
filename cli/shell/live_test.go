package shell

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"edemux/cli/control"

	"github.com/stretchr/testify/require"
)

// liveConfig plays one capture of tagged datagrams for ever.
const liveConfig = `control: {socket: %s, metrics: "127.0.0.1:0"}
lcores: [0]
ports:
  - name: eth0
    source: {pcap: %s, loop: 0, speed: 5000pps}
    vlans: {10: eth0.10, 20: eth0.20, "100.10": eth0.100.10, "100.20": eth0.100.20}
vrfs:
  - {name: default, local: [192.0.2.2/32]}
  - {name: red, interfaces: [eth0.10, eth0.100.10], local: [192.0.2.2/32]}
  - {name: blue, interfaces: [eth0.20], local: [192.0.2.0/24]}
workers:
  - {name: plain, count: 1, handler: count}
  - {name: red, count: 2, handler: count}
sockets:
  - {name: plain, proto: udp, bind: "192.0.2.2:7000", reuseaddr: true, worker: plain/0}
  - {name: red, proto: udp, bind: "0.0.0.0:7000", dev: red, reuseaddr: true, workers: red}
`

// live is a running daemon, a process of its own.
type live struct {
	*fixture
	cmd *exec.Cmd
}

func newLive(t *testing.T) *live {
	t.Helper()
	l := &live{fixture: newPlace(t)}
	capture, err := filepath.Abs("../../testdata/pcap/vlan.pcap")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(l.dir, "edemux.yaml"), fmt.Appendf(nil, liveConfig, l.socket, capture), 0o644))
	l.start()
	return l
}

func (l *live) start() {
	l.t.Helper()
	var log bytes.Buffer
	l.cmd = l.command("run", "-c", "edemux.yaml", "--quiet")
	l.cmd.Stdout, l.cmd.Stderr = &log, &log
	require.NoError(l.t, l.cmd.Start())
	cmd := l.cmd
	l.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if l.t.Failed() {
			l.t.Log(log.String())
		}
	})
	waitFor(l.t, func() bool { return l.command("ctl", "show", "version").Run() == nil })
}

// TestLive is a session with the real daemon: what the shell asks for is what
// the daemon understands.
func TestLive(t *testing.T) {
	l := newLive(t)
	s := l.shell(80, 24)
	for _, c := range []struct{ line, answer string }{
		{"early-demux udp off blue", "epoch 2"}, {"early-demux", "epoch 2"}, {"sysctl udp_early_demux blue", "udp_early_demux  0"},
		{"show sockets red", "0.0.0.0:7000"}, {"show ports", "verdicts"}, {"show lcores", "bursts by size"}, {"show workers red", "red/1"},
		{"show groups", "members"}, {"show drops", "dropped in all"}, {"show mib", "UdpInDatagrams"}, {"show config", "changed since then"},
		{"show flows blue --filter 'udp and port 7000'", "no flows match"}, {"show vrfs blue", "flow tables"},
		{`bind {name: extra, proto: udp, bind: "192.0.2.2:7001", worker: plain/0}`, "epoch 3"}, {"connect extra 192.0.2.9:9", "epoch 4"}, {"show flows default", "192.0.2.9:9"},
		{"close extra", "epoch 5"}, {"show vrfs green", `no VRF "green"`}, {"reload", "epoch"}, {"clear counters", "zero"},
		{"capture --count 3 --out three.pcapng vlan 10", "bytes to three.pcapng"}, {"recorder dump --out all.pcapng", "bytes to all.pcapng"},
	} {
		s.Send(c.line + "\r")
		s.Wait(c.line[:5])
		s.Wait(c.answer)
		s.Prompt("edemux>")
	}
	for _, c := range []struct{ typed, line string }{
		{"close re\t/1", "edemux> close red/1"}, {"show vrfs b\t", "edemux> show vrfs blue"}, {"explain --dev eth0.2\t", "edemux> explain --dev eth0.20"},
		{"show workers p\t", "edemux> show workers plain/0"}, {"show groups r\t", "edemux> show groups red"}, {"show ports e\t", "edemux> show ports eth0"},
	} {
		s.Send(c.typed)
		s.Prompt(c.line)
		s.Send("\x15")
		s.Prompt("edemux>")
	}
	for _, file := range []string{"three.pcapng", "all.pcapng"} {
		b, err := os.ReadFile(filepath.Join(l.dir, file))
		require.NoError(t, err)
		require.Equal(t, "\x0a\x0d\x0d\x0a", string(b[:4]))
	}
	s.Send("watch 0.1 show vrfs\r")
	moving := regexp.MustCompile(`(?m)^red +on +on +on +[1-9]`)
	s.Show("packets of red", func(lines []string) bool { return moving.MatchString(strings.Join(lines, "\n")) })
	s.Send(ctrlCk)
	s.Prompt("edemux>")

	require.NoError(t, l.cmd.Process.Signal(syscall.SIGKILL))
	_ = l.cmd.Wait()
	s.Send("show version\r")
	s.Wait("no daemon answers there")
	s.Prompt("edemux>")
	l.start()
	s.Wait("the daemon answers again")
	s.Prompt("edemux>")
	s.Send("early-demux blue\r")
	s.Wait("the daemon was restarted")
	s.Wait("blue  on  on   on")
	s.Send("shutdown\r")
	s.Prompt("edemux>")
	require.NoError(t, l.cmd.Wait(), "the daemon ends by itself")
}

// What ctl prints goes on from the numbers of the JSON before it.
func TestLiveNumbers(t *testing.T) {
	l := newLive(t)
	var text string
	var a control.VRFs
	waitFor(t, func() bool {
		_, out, _ := l.run("", "ctl", "--json", "show", "vrfs")
		a = control.VRFs{}
		require.NoError(t, json.Unmarshal([]byte(out), &a))
		_, text, _ = l.run("", "ctl", "show", "vrfs")
		return a.VRFs[1].Frames > 100
	})
	for i := range a.VRFs {
		v := &a.VRFs[i]
		if v.Name == "-" {
			continue
		}
		row := regexp.MustCompile(`(?m)^` + v.Name + ` +on +on +on +\d+ +(\d+) +(\d+) +(\d+) `).FindStringSubmatch(text)
		require.NotNil(t, row, text)
		var frames, deliver, drop uint64
		_, err := fmt.Sscan(strings.Join(row[1:], " "), &frames, &deliver, &drop)
		require.NoError(t, err)
		require.GreaterOrEqual(t, frames, v.Frames)
		require.GreaterOrEqual(t, deliver, v.Verdicts.Deliver)
		require.GreaterOrEqual(t, drop, v.Verdicts.Drop)
	}
}

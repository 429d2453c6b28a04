package shell

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"edemux/cli/control"

	"github.com/stretchr/testify/require"
)

const (
	up     = "\x1b[A"
	ctrlD  = "\x04"
	ctrlCk = "\x03"
)

func TestFirstMinutes(t *testing.T) {
	f := newFixture(t)
	s := f.shell(80, 24)
	require.Contains(t, s.Screen(), "edemux 1.2.3 at "+f.socket+", pid 4001.")

	s.Send("?") // someone new looks for the switch
	s.Wait("show or set the early-demux switches")
	s.Prompt("edemux>")
	s.Send("early?")
	s.Wait("early-demux")
	s.Prompt("edemux> early")
	s.Send("\t")
	s.Prompt("edemux> early-demux")
	s.Send("?")
	s.Wait("UDP, both families")
	s.Wait("default, red")
	s.Wait("<enter>")
	s.Prompt("edemux> early-demux")
	s.Send("udp off r\t\r")
	s.Wait("early demux: udp false in VRF red (epoch 8)")
	s.Prompt("edemux>")
	require.Equal(t, []string{`PUT /v1/early-demux {"proto":"udp","on":false,"vrf":"red"}`}, f.Requests("PUT"))

	s.Send("sh v\t\t") // nothing more in common: a list
	s.Wait("version  vrfs")
	s.Prompt("edemux> sh v")
	s.Send("r\r")
	s.Wait("early demux")
	s.Prompt("edemux>")
	s.Send("exit\r")
	require.Equal(t, 0, s.Exit())
	require.True(t, s.Cooked(), "the terminal is as it was")
}

func TestCompletion(t *testing.T) {
	f := newFixture(t)
	s := f.shell(80, 24)
	for _, c := range []struct{ typed, line string }{
		{"sh\t", "edemux> sh"},                            // show, shutdown: a list
		{"sho\t", "edemux> show"},                         // the only one
		{"show w\t", "edemux> show workers"},              //
		{"show workers w\t", "edemux> show workers web/"}, // live, what they have in common
		{"close w\t0\t", "edemux> close web443/0"},
		{"explain --dev eth0.\t", "edemux> explain --dev eth0.10"},
		{"show groups \t", "edemux> show groups"}, // options and names
		{"show flows --l\t5 --f\t", "edemux> show flows --limit 5 --filter"},
		{"sysctl udp_e\t=0 r\t", "edemux> sysctl udp_early_demux=0 red"},
		{"watch 2 show vr\td\t", "edemux> watch 2 show vrfs default"},
		{"show vrfs | j\t", "edemux> show vrfs | json"},
		{"show groups web4\t", "edemux> show groups web443"},
		{"nonsense \t", "edemux> nonsense"},
	} {
		s.Send(c.typed)
		s.Prompt(c.line)
		s.Send("\x15") // Ctrl-U
		s.Prompt("edemux>")
	}
	s.Send("show red\x1b[D\x1b[D\x1b[Dvrfs \x1b[Dx\x7f") // in the middle of a line
	s.Prompt("edemux> show vrfs red")
}

func TestCompletionWithoutDaemon(t *testing.T) {
	f := newFixture(t)
	s := f.shell(80, 24)
	f.Stop()
	s.Send("show vr\tr\t")
	s.Prompt("edemux> show vrfs r")
	s.Send("\x15")
	f.Start()
	f.Block("GET /v1/objects") // one that hangs holds no key for long
	s.Send("show vrfs d\t!")
	s.Prompt("edemux> show vrfs d!")
}

func TestQuestionMarks(t *testing.T) {
	f := newFixture(t)
	s := f.shell(80, 24)
	s.Send(`show vrfs | match "re?d"` + "\r") // in quotes it is a character
	s.Wait("red")
	s.Prompt("edemux>")
	s.Send("show vrfs | match re?d\r")
	s.Wait("red")
	s.Prompt("edemux>")
	s.Send("show vrfs | match ?")
	s.Wait("a regular expression")
	s.Prompt("edemux> show vrfs | match")
	s.Send("\x15shwo ?")
	s.Wait(`did you mean show?`)
	s.Send("\x15bind {name: b?") // in a mapping
	s.Prompt("edemux> bind {name: b?")
}

func TestHistory(t *testing.T) {
	f := newFixture(t)
	s := f.shell(80, 24)
	for _, l := range []string{"show drops", "show lcores", "show lcores", " secret", "early-demux"} {
		s.Send(l + "\r")
		s.Prompt("edemux>")
	}
	s.Send(up + up)
	s.Prompt("edemux> show lcores")
	s.Send("\x15" + ctrlD)
	require.Equal(t, 0, s.Exit())

	file := filepath.Join(f.state, "edemux", "history")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "show drops\nshow lcores\nearly-demux\n", string(text))
	st, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), st.Mode().Perm())

	s = f.shell(80, 24)
	s.Send(up + up + up)
	s.Prompt("edemux> show drops")
	s.Send("\x15co\x12") // Ctrl-R
	s.Prompt("edemux> show lcores")
	s.Send("\x15show\x12\x12")
	s.Prompt("edemux> show drops")
}

func TestWatch(t *testing.T) {
	f := newFixture(t)
	s := f.shell(80, 24)
	s.Send("watch 0.1 show vrfs\r")
	s.Show("the third snapshot", func(l []string) bool {
		return len(l) > 1 && l[0][:25] == "every 100ms: show vrfs (C" && l[1] >= "snapshot 103"
	})
	text := s.Screen()
	require.Contains(t, text, "default")
	require.LessOrEqual(t, strings.Count(text, "\n"), 24)
	require.Equal(t, 1, strings.Count(text, "snapshot"), "drawn in place")
	s.Send(ctrlCk)
	s.Prompt("edemux>")
	n := len(f.Requests("GET /v1/vrfs"))
	s.Send("show version\r")
	s.Wait("started")
	s.Prompt("edemux>")
	require.Len(t, f.Requests("GET /v1/vrfs"), n, "the watch has ended")

	s.Send("watch early-demux udp off red\r")
	s.Wait("watch repeats what shows something")
	s.Send("watch 0.1 show nonsense\r")
	s.Wait("unknown show")
	s.Prompt("edemux>")
	s.Send("exit\r")
	require.Equal(t, 0, s.Exit())
}

// A long answer fits the screen during a watch, whatever its size becomes.
func TestWatchResize(t *testing.T) {
	f := newFixture(t)
	s := f.shell(80, 10)
	s.Send("watch 0.1 show vrfs\r")
	s.Show("the top of the answer", func(l []string) bool { return len(l) == 9 && strings.HasPrefix(l[8], "... ") })
	s.Resize(100, 50)
	s.Show("all of it", func(l []string) bool {
		return len(l) > 30 && strings.HasPrefix(l[0], "every 100ms") && strings.HasPrefix(l[len(l)-1], "red ")
	})
	s.Send(ctrlCk)
	s.Prompt("edemux>")
}

func TestInterrupt(t *testing.T) {
	f := newFixture(t)
	s := f.shell(80, 24)
	s.Send("show drops" + ctrlCk) // at the prompt: a new line
	s.Wait("^C")
	s.Prompt("edemux>")
	f.Block("GET /v1/drops")
	s.Send("show drops\r") // during a command: its end
	waitFor(t, func() bool { return len(f.Requests("GET /v1/drops")) > 0 })
	s.Send(ctrlCk)
	s.Wait("^C")
	s.Prompt("edemux>")
	s.Send("show version\r")
	s.Wait("1.2.3")
	s.Prompt("edemux>")
	s.Send(ctrlD)
	require.Equal(t, 0, s.Exit())
}

func TestTypeAhead(t *testing.T) {
	f := newFixture(t)
	s := f.shell(80, 24)
	s.Send("show version\rshow workers\rearly-demux\r")
	s.Wait("edemux> show workers")
	s.Wait("web/1")
	s.Wait("edemux> early-demux")
	s.Wait("epoch 7")
	s.Prompt("edemux>")
	s.Send("\x1b[200~show version\rshow workers\r\x1b[201~") // pasted
	s.Wait("started")
	s.Wait("web/1")
	s.Prompt("edemux>")
	s.Send("\x1b[200~show\tve?rs\x1b[201~") // no completion, no help
	s.Prompt("edemux> show ve?rs")
}

func TestResize(t *testing.T) {
	f := newFixture(t)
	s := f.shell(80, 24)
	long := "show flows --filter 'udp and port 53 and host 10.0.0.1' --limit 20 | match 10.0.0.1"
	s.Send(long)
	s.Show("a wrapped line", func(l []string) bool { return strings.HasSuffix(strings.Join(l, ""), "edemux> "+long) })
	s.Resize(120, 30)
	s.Prompt("edemux> " + long)
	s.Send("\x1b[Hx\x1b[F.")
	s.Prompt("edemux> x" + long + ".")
	s.Resize(60, 30)
	s.Show("wrapped at 60", func(l []string) bool {
		return len(l) > 1 && strings.HasSuffix(strings.Join(l, ""), "edemux> x"+long+".") && len(l[len(l)-2]) == 60
	})
	s.Send("\x15\x15")
	s.Send("show workers\r")
	s.Wait("web/1")
	for _, l := range strings.Split(s.Screen(), "\n") {
		require.LessOrEqual(t, len(l), 60)
	}
}

func TestDaemonRestarts(t *testing.T) {
	f := newFixture(t)
	s := f.shell(80, 24)
	s.Send("show version\r")
	s.Wait("4001")
	s.Prompt("edemux>")
	f.Stop()
	s.Send("show version\r")
	s.Wait("no daemon answers there")
	s.Prompt("edemux>")
	s.Send("show ver") // half a line survives the news
	s.Prompt("edemux> show ver")
	f.Start()
	s.Wait("the daemon answers again (pid 4002)")
	s.Prompt("edemux> show ver")
	s.Send("\r")
	s.Wait("the daemon was restarted at 12:00:00 (pid 4002)")
	s.Wait("pid      4002")
	s.Prompt("edemux>")

	f.Stop() // between two commands, unseen
	f.Start()
	s.Send("early-demux\r")
	s.Wait("restarted")
	s.Wait("epoch 7")
	s.Prompt("edemux>")
	s.Send("watch 0.1 show lcores\r")
	s.Wait("polling")
	f.Stop()
	s.Wait("no daemon answers there")
	f.Start()
	s.Wait("polling")
	s.Send(ctrlCk)
	s.Prompt("edemux>")
}

func TestEndOfTerminal(t *testing.T) {
	f := newFixture(t)
	s := f.shell(80, 24)
	s.Signal(syscall.SIGTERM)
	require.Equal(t, -1, s.Exit())
	require.True(t, s.Cooked(), "the terminal is as it was")

	f.Stop()
	require.Equal(t, 1, onTerminal(t, f.command("shell"), "edemux: shell: "+f.socket+": no daemon answers there"))
}

func TestMistakes(t *testing.T) {
	f := newFixture(t)
	s := f.shell(80, 24)
	s.Send("show vrfs red blue\r")
	s.Wait("^^^^")
	s.Wait(`unexpected "blue" after show vrfs`)
	s.Prompt("edemux>")
	require.Contains(t, s.Screen(), "edemux> show vrfs red blue\n                      ^^^^\n")
	f.Refuse("GET /v1/vrfs", &control.Error{Status: 404, Code: control.CodeNoSuch, Message: "no VRF \"blue\": there are default, red"})
	s.Send("show vrfs blue\r")
	s.Wait(`edemux: show vrfs blue: no VRF "blue": there are default, red`)
	s.Prompt("edemux>")
	s.Send("capture udp\r")
	s.Wait("give --out FILE")
	s.Send("capture --out dns.pcapng udp\r")
	s.Wait("wrote 21 bytes to dns.pcapng")
	s.Prompt("edemux>")
	s.Send("help show flows\r")
	s.Wait("go on where a page ended")
	s.Prompt("edemux>")
	s.Send("\r   \r")
	s.Prompt("edemux>")
}

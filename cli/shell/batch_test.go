package shell

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edemux/cli/control"
	"edemux/cli/shell/shelltest"

	"github.com/stretchr/testify/require"
)

// waitFor polls for something that no terminal shows.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, 20*time.Second, 5*time.Millisecond)
}

// onTerminal runs cmd on a terminal to its end, which is a failure that it
// explains with text.
func onTerminal(t *testing.T, cmd *exec.Cmd, text string) (code int) {
	t.Helper()
	s := shelltest.Start(t, cmd, 200, 24)
	s.Wait(text)
	return s.Exit()
}

// run is a command without a terminal.
func (f *fixture) run(stdin string, args ...string) (code int, stdout, stderr string) {
	cmd := f.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestBatch(t *testing.T) {
	f := newFixture(t)
	code, out, errs := f.run("# set up\n\nearly-demux udp off red\n  show vrfs red\nexit\nshow nonsense\n", "shell")
	require.Equal(t, 0, code, errs)
	require.Contains(t, out, "early demux: udp false in VRF red (epoch 8)\n")
	require.Contains(t, out, "\nred ")
	require.Empty(t, errs)
	require.NoFileExists(t, filepath.Join(f.state, "edemux", "history"), "nobody typed this")

	for in, want := range map[string]string{
		"show vrfs\n\nshwo vrfs\nshow drops\n": "edemux: shell: line 3: column 1: unknown command \"shwo\": did you mean show?\n",
		"watch show vrfs":                      "edemux: shell: line 1: watch needs a terminal\n",
		"show mib red":                         "edemux: shell: line 1: show mib: the kernel's counters are kept for all VRFs together: leave \"red\" out\n",
	} {
		code, out, errs = f.run(in, "shell")
		require.Equal(t, 1, code)
		require.Equal(t, want, errs)
		require.NotContains(t, out, "NO_SOCKET", "nothing after the error")
	}
	f.Refuse("DELETE", &control.Error{Status: 404, Code: control.CodeNoSuch, Message: "no socket b"})
	code, _, errs = f.run("close b\nshow drops\n", "shell")
	require.Equal(t, 1, code)
	require.Equal(t, "edemux: shell: line 1: close b: no socket b\n", errs)
	f.Refuse("POST /v1/reload", &control.Error{Status: 400, Code: control.CodeConfig, Message: "edemux.yaml:3:1: unknown key"})
	code, _, _ = f.run("reload\n", "shell")
	require.Equal(t, 1, code, "in a batch every error is 1")

	f.Stop()
	code, _, errs = f.run("\n\nshow drops", "shell")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "edemux: shell: line 3: "+f.socket+": no daemon answers there")
}

func TestBatchPipes(t *testing.T) {
	f := newFixture(t)
	code, out, errs := f.run("show drops | match NO_\nshow workers | json\nshow drops --json | match reason\n", "shell")
	require.Equal(t, 0, code, errs)
	first, rest, _ := strings.Cut(out, "{")
	require.Equal(t, 2, strings.Count(first, "\n"))
	dec := json.NewDecoder(strings.NewReader("{" + rest))
	var w control.Workers
	require.NoError(t, dec.Decode(&w))
	require.Equal(t, "web/1", w.Workers[2].Name)
	require.Equal(t, 3, strings.Count(out, `"reason":`))
}

func TestCtl(t *testing.T) {
	f := newFixture(t)
	for _, args := range [][]string{
		{"ctl", "show", "vrfs"}, {"ctl", "sh", "vrf"}, {"ctl", "show vrfs"}, {"ctl", "--socket", f.socket, "show", "vrfs"}, {"ctl", "show", "vrfs", "--socket=" + f.socket},
	} {
		code, out, errs := f.run("", args...)
		require.Equal(t, 0, code, errs)
		require.Contains(t, out, "eth0.10 eth0.20", args)
	}
	for _, args := range [][]string{{"ctl", "--json", "show", "vrfs"}, {"ctl", "show", "vrfs", "--json"}, {"ctl", "show vrfs | json"}} {
		code, out, errs := f.run("", args...)
		require.Equal(t, 0, code, errs)
		var v control.VRFs
		require.NoError(t, json.Unmarshal([]byte(out), &v))
		require.Len(t, v.VRFs, 3)
	}
	code, out, _ := f.run("", "ctl", "--help")
	require.Equal(t, 0, code)
	require.Contains(t, out, "edemux ctl early-demux udp off red")
	code, out, _ = f.run("", "ctl", "help", "early")
	require.Equal(t, 0, code)
	require.Contains(t, out, "early-demux [ip|tcp|udp] [on|off] [VRF]")
}

func TestCtlErrors(t *testing.T) {
	f := newFixture(t)
	refuse := func(request string, status int, code, msg string) {
		f.Refuse(request, &control.Error{Status: status, Code: code, Message: msg})
	}
	refuse("GET /v1/vrfs", 404, control.CodeNoSuch, "no VRF blue")
	refuse("POST /v1/reload", 400, control.CodeConfig, "edemux.yaml:3:1: unknown key\nsecond line")
	refuse("GET /v1/flows", 503, control.CodeBusy, "four dumps run already")
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{2, "ctl: want a command: edemux ctl help lists them", nil},
		{2, "ctl: column 6: unknown show \"vrsf\": did you mean vrfs?", []string{"show", "vrsf"}},
		{2, "ctl: unknown flag --jsno (see edemux ctl --help)", []string{"--jsno", "show", "vrfs"}},
		{2, "ctl: --socket: want a PATH", []string{"show", "vrfs", "--socket"}},
		{2, "ctl: `watch` and `| match` belong to edemux shell", []string{"watch 2 show vrfs"}},
		{2, "ctl: unknown command \"exit\"", []string{"exit"}},
		{2, "ctl: show mib: the kernel's counters are kept for all VRFs together: leave \"red\" out", []string{"show", "mib", "red"}},
		{1, "ctl: show vrfs blue: no VRF blue", []string{"show", "vrfs", "blue"}},
		{2, "ctl: reload: edemux.yaml:3:1: unknown key; second line", []string{"reload"}},
		{1, "ctl: show flows: four dumps run already", []string{"show", "flows"}},
	} {
		code, out, errs := f.run("", append([]string{"ctl"}, c.args...)...)
		require.Equal(t, c.code, code, c.want)
		require.Equal(t, "edemux: "+c.want+"\n", errs)
		require.Empty(t, out)
	}
	f.Stop()
	code, _, errs := f.run("", "ctl", "show", "vrfs")
	require.Equal(t, 1, code)
	require.Equal(t, "edemux: ctl: "+f.socket+": no daemon answers there: is `edemux run` running, with this control socket?\n", errs)
}

// Each command becomes the request that it should.
func TestRequests(t *testing.T) {
	f := newFixture(t)
	for line, want := range map[string]string{
		"show config": "GET /v1/config", "show drops red": "GET /v1/drops?vrf=red", "show groups web443": "GET /v1/groups?name=web443",
		"show lcores": "GET /v1/lcores", "show mib": "GET /v1/mib", "show ports eth0": "GET /v1/ports?name=eth0", "show version": "GET /v1/version",
		"show workers web": "GET /v1/workers?name=web", "show vrfs red": "GET /v1/vrfs?name=red", "show sockets web443 --vrf red": "GET /v1/sockets?limit=10000&name=web443&vrf=red",
		"show flows red --filter 'udp and port 53' --limit 20 --after 7": "GET /v1/flows?after=7&filter=udp+and+port+53&limit=20&vrf=red",
		"early-demux vrf red": "GET /v1/early-demux?vrf=red", "early-demux off": `PUT /v1/early-demux {"proto":"ip","on":false}`,
		"sysctl": "GET /v1/sysctl", "sysctl udp_early_demux red": "GET /v1/sysctl?name=udp_early_demux&vrf=red",
		`sysctl ip_local_port_range="32768 60999" red`:           `PUT /v1/sysctl {"name":"ip_local_port_range","value":"32768 60999","vrf":"red"}`,
		"explain --dev eth0 udp 10.0.0.9:9 [::ffff:10.0.0.1]:53": "", "explain --dev eth0 udp 10.0.0.9:9 10.0.0.1:53": `POST /v1/explain {"proto":"udp","src":"10.0.0.9:9","dst":"10.0.0.1:53","dev":"eth0"}`,
		`bind {name: b, proto: udp, bind: "10.0.0.1:7001"}`: `POST /v1/sockets {"spec":"{name: b, proto: udp, bind: \"10.0.0.1:7001\"}"}`,
		"connect b 10.0.0.9:9000 --laddr 10.0.0.1":          `POST /v1/connect {"socket":"b","remote":"10.0.0.9:9000","laddr":"10.0.0.1"}`,
		"connect {name: c, proto: udp}":                     `POST /v1/connect {"spec":"{name: c, proto: udp}"}`,
		"close web443/1":                                    "DELETE /v1/sockets/web443%2F1", "clear counters": "POST /v1/counters/clear", "reload": "POST /v1/reload", "shutdown": "POST /v1/shutdown",
	} {
		if want == "" {
			continue
		}
		before := len(f.Requests(""))
		code, _, errs := f.run("", "ctl", line)
		require.Equal(t, 0, code, line+": "+errs)
		require.Equal(t, want, f.Requests("")[before], line)
	}
}

func TestCaptures(t *testing.T) {
	f := newFixture(t)
	code, out, errs := f.run("", "ctl", "capture", "--count", "3", "udp", "port", "53")
	require.Equal(t, 0, code, errs)
	require.Equal(t, "pcapng of /v1/capture", out)
	require.Equal(t, "wrote 21 bytes to standard output\n", errs)
	require.Equal(t, "GET /v1/capture?count=3&filter=udp+port+53", f.Requests("GET /v1/capture")[0])
	code, out, errs = f.run("", "ctl", "recorder", "dump", "--out", "r.pcapng")
	require.Equal(t, 0, code, errs)
	require.Empty(t, out)
	b, err := os.ReadFile(filepath.Join(f.dir, "r.pcapng"))
	require.NoError(t, err)
	require.Equal(t, "pcapng of /v1/recorder", string(b))

	f.Refuse("GET /v1/recorder", &control.Error{Status: 503, Code: control.CodeBusy, Message: "a dump runs already"})
	code, _, errs = f.run("", "ctl", "recorder", "dump", "--out", "x.pcapng")
	require.Equal(t, 1, code)
	require.Equal(t, "edemux: ctl: recorder dump --out x.pcapng: a dump runs already\n", errs)
	require.NoFileExists(t, filepath.Join(f.dir, "x.pcapng"))
	code, _, errs = f.run("", "ctl", "recorder", "dump", "--out", "no/such/x.pcapng")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "no/such/x.pcapng")
	require.Equal(t, 2, onTerminal(t, f.command("ctl", "capture"), "edemux: ctl: a capture is binary: give --out FILE, not the terminal"))
}

package completion

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"edemux/cli/command"
	"edemux/cli/exit"
	"edemux/cli/shell"
	"edemux/cli/shell/shelltest"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"
)

// asProgram makes the test binary behave as a small edemux.
const asProgram = "EDEMUX_COMPLETION_TEST"

func app() *cli.App {
	return &cli.App{Name: "edemux", ExitErrHandler: func(*cli.Context, error) {}, Commands: []*cli.Command{
		{Name: "replay", Usage: "replay it", ArgsUsage: "[NAME=]CAPTURE...", Flags: []cli.Flag{
			&cli.StringFlag{Name: "config", Aliases: []string{"c"}, Usage: "configuration `FILE`"},
			&cli.StringFlag{Name: "engine", Usage: "go or dpdk"}, &cli.BoolFlag{Name: "json", Usage: "as JSON: yes"},
			&cli.StringFlag{Name: "secret", Hidden: true},
		}},
		{Name: "bench", ArgsUsage: "connect|isolation", Usage: "measure"},
		shell.CtlCommand(), shell.ShellCommand(), Command(),
	}}
}

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	err := app().Run(os.Args)
	if err == nil {
		os.Exit(exit.OK)
	}
	os.Stderr.WriteString("edemux: " + err.Error() + "\n")
	var e *exit.Error
	if errors.As(err, &e) {
		os.Exit(e.Code)
	}
	os.Exit(exit.Failure)
}

func names(socket string) func(command.Kind) []string {
	return func(k command.Kind) []string {
		if socket == "/run/here" {
			return shelltest.Objects[k.String()]
		}
		return nil
	}
}

func TestWords(t *testing.T) {
	t.Setenv("EDEMUX_SOCKET", "/run/here")
	for _, c := range []struct{ line, want string }{
		{"edemux ", "replay bench ctl shell completion"}, {"edemux sh", "shell"}, {"edemux -", "--help"}, {"edemux x", ""}, {"edemux", ""}, {"", ""},
		{"edemux replay ", ":files"}, {"edemux replay --", "--config --engine --json --help"}, {"edemux replay -", "--config -c --engine --json --help"},
		{"edemux replay --engine ", "go dpdk"}, {"edemux replay --engine d", "dpdk"}, {"edemux replay --engine=d", "--engine=dpdk"}, {"edemux replay --json ", ":files"},
		{"edemux replay -c ", ":files"}, {"edemux replay a.pcap --en", "--engine"}, {"edemux replay -- --en", ":files"}, {"edemux replay --config=", ":files"},
		{"edemux bench ", "connect isolation"}, {"edemux completion b", "bash"}, {"edemux completion wo", ""},
		{"edemux shell --", "--socket --help"}, {"edemux shell --socket ", ":files"},
		{"edemux ctl -", "--socket --json --help"}, {"edemux ctl --socket ", ":files"}, {"edemux ctl sho", "show"}, {"edemux ctl --json show vr", "vrfs"},
		{"edemux ctl show vrfs ", "--json default red"}, {"edemux ctl show vrfs r", "red"}, {"edemux ctl close web443/", "web443/0 web443/1"},
		{"edemux ctl --socket /run/other show vrfs r", ""}, {"edemux ctl --socket=/run/other show vrfs d", ""}, {"edemux ctl show --socket /run/here vrfs d", "default"},
		{"edemux ctl early-demux udp o", "off on"}, {"edemux ctl show flows --limit 5 --", "--after --filter --json"}, {"edemux ctl recorder dump --out ", ":files"},
		{"edemux ctl show flows --filter 'udp and po", ""}, {"edemux ctl shwo ", ""}, {`edemux ctl show "vr`, "vrfs"}, {"edemux  ctl\tshow  vr", "vrfs"},
	} {
		r := complete(app(), c.line, names)
		var got []string
		for _, w := range r.words {
			got = append(got, w.Text)
		}
		if r.files {
			got = append(got, ":files")
		}
		require.ElementsMatch(t, strings.Fields(c.want), got, c.line)
	}
	r := complete(app(), "edemux ctl early-demux u", names)
	require.Equal(t, "UDP, both families", r.words[0].Help)
}

// Every command and every flag of the daemon's grammar is offered.
func TestWholeTable(t *testing.T) {
	for i := range command.Table {
		s := &command.Table[i]
		if s.Where&command.InCtl == 0 {
			continue
		}
		line := "edemux ctl "
		for _, w := range s.Path {
			require.Contains(t, textsOf(complete(app(), line+w[:1], names)), w)
			line += w + " "
		}
		for _, f := range s.Flags {
			require.Contains(t, textsOf(complete(app(), line+"--", names)), "--"+f.Name, line)
		}
	}
}

func textsOf(r result) (out []string) {
	for _, w := range r.words {
		out = append(out, w.Text)
	}
	return out
}

func TestSplit(t *testing.T) {
	for in, want := range map[string][]string{
		"": {""}, "a": {"a"}, "a ": {"a", ""}, " a  b": {"a", "b"}, `a 'b c' d`: {"a", "b c", "d"}, `a "b \" c`: {"a", `b " c`}, `a\ b`: {"a b"}, `a '`: {"a", ""}, `'' b`: {"", "b"}, `'\'x`: {`\x`},
	} {
		require.Equal(t, want, split(in), in)
	}
}

func TestAfterBreak(t *testing.T) {
	require.Equal(t, "dpdk", afterBreak("--engine=dpdk", "--engine=d", "=:"))
	require.Equal(t, "--engine=dpdk", afterBreak("--engine=dpdk", "--engine=d", ""))
	require.Equal(t, "show", afterBreak("show", "s", "=:"))
}

func FuzzLine(f *testing.F) {
	for _, s := range []string{"edemux ctl show vrfs ", `edemux replay --engine="`, "edemux -- ", `edemux ctl bind {name: "`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, w := range complete(app(), line, names).words {
			require.NotContains(t, w.Text, "\n")
		}
	})
}

// program makes `edemux` a command in dir that runs the test binary.
func program(t *testing.T) (dir string, env []string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "edx")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(dir, "edemux")))
	shelltest.NewDaemon(t, filepath.Join(dir, "s"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "one.pcap"), nil, 0o644))
	return dir, append(os.Environ(), asProgram+"=1", "GORACE=atexit_sleep_ms=0", "EDEMUX_SOCKET="+filepath.Join(dir, "s"), "HOME="+dir, "ZDOTDIR="+dir,
		"PATH="+dir+":"+os.Getenv("PATH"), "TERM=xterm", "PS1=$ ", "INPUTRC="+filepath.Join(dir, "one.pcap"), "HISTFILE=")
}

// Real shells complete on a real terminal. bash is everywhere; zsh is tested
// where it is installed.
func TestShells(t *testing.T) {
	shells := map[string][]string{"bash": {"--norc", "--noprofile", "-i"}, "zsh": {"-f", "-i"}}
	for name, args := range shells {
		path, err := exec.LookPath(name)
		if err != nil && name == "zsh" {
			t.Log("no zsh here: only bash is tested")
			continue
		}
		require.NoError(t, err)
		t.Run(name, func(t *testing.T) {
			dir, env := program(t)
			cmd := exec.Command(path, args...)
			cmd.Dir, cmd.Env = dir, env
			s := shelltest.Start(t, cmd, 80, 24)
			s.Prompt("$")
			if name == "zsh" {
				s.Send("autoload -Uz compinit && compinit -u -D; clear\r")
				s.Prompt("$")
			}
			s.Send("source <(edemux completion " + name + "); clear\r")
			s.Show("an empty screen", func(l []string) bool { return len(l) == 1 && l[0] == "$" })
			for _, c := range []struct{ typed, line string }{
				{"edemux rep\t", "$ edemux replay"}, {"edemux ctl early\tu\tof\tr\t", "$ edemux ctl early-demux udp off red"},
				{"edemux ctl close w\t1\t", "$ edemux ctl close web443/1"}, {"edemux replay --eng\td\t", "$ edemux replay --engine dpdk"},
				{"edemux replay --engine=d\t", "$ edemux replay --engine=dpdk"}, {"edemux replay on\t", "$ edemux replay one.pcap"},
				{"edemux ctl show flows --lim\t", "$ edemux ctl show flows --limit"},
			} {
				s.Send(c.typed)
				s.Prompt(c.line)
				s.Send("\x15")
				s.Prompt("$")
			}
			s.Send("edemux ctl show vrfs \t\t")
			s.Wait("default")
		})
	}
}

func TestScripts(t *testing.T) {
	dir, env := program(t)
	run := func(args ...string) (string, int) {
		cmd := exec.Command(filepath.Join(dir, "edemux"), args...)
		cmd.Env = env
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	for name, want := range map[string]string{"bash": bash, "zsh": zsh} {
		out, code := run("completion", name)
		require.Zero(t, code)
		require.Equal(t, want, out)
	}
	out, code := run("completion", "fish")
	require.Equal(t, 2, code)
	require.Equal(t, "edemux: completion: \"fish\": want bash or zsh\n", out)
	_, code = run("completion")
	require.Equal(t, 2, code)
	out, _ = run("completion", "words", "--help-text", "--line", "edemux ctl show vrfs ")
	require.Equal(t, "--json:as JSON\ndefault:\nred:\n", out)
}

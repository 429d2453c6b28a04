package edemux_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

// TestScript runs testdata/script/*.txtar. Beside testscript's own commands
// they use the ones in scriptCommands; $PCAP is testdata/pcap.
func TestScript(t *testing.T) {
	bin := program(t)
	pcap, err := filepath.Abs("testdata/pcap")
	require.NoError(t, err)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireUniqueNames:  true,
		ContinueOnError:     true,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", filepath.Dir(bin)+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("PCAP", pcap)
			return nil
		},
		Cmds: scriptCommands,
	})
}

type scriptCommand = func(ts *testscript.TestScript, neg bool, args []string)

var scriptCommands = map[string]scriptCommand{
	"exits":    cmdExits,
	"refuses":  cmdRefuses,
	"json":     cmdJSON,
	"fits":     cmdFits,
	"pack":     cmdPack,
	"terminal": cmdTerminal,
}

// cmdExits is `exits CODE edemux ARGS...`: the program ends with that code.
func cmdExits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	got := 0
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d: %s", got, want, ts.ReadFile("stderr"))
	}
}

// refusal is what an error looks like: one line, and for a mistake in a
// configuration the line it is in with a mark under the place.
var refusal = regexp.MustCompile(`^edemux: [^\n]+\n$|^edemux: [^\n]+:\d+:\d+: [^\n]+\n[^\n]*\n\s*\^\n$`)

// cmdRefuses is `refuses CODE edemux ARGS...`: that exit code, an error as
// refusal says on stderr, nothing on stdout.
func cmdRefuses(ts *testscript.TestScript, neg bool, args []string) {
	cmdExits(ts, neg, args)
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("an error, and yet stdout has: %s", out)
	}
	if said := ts.ReadFile("stderr"); !refusal.MatchString(said) {
		ts.Fatalf("want one line `edemux: ...` on stderr, got %q", said)
	}
}

// cmdJSON is `json PATH WANT`: the value at a dotted path of the JSON on
// stdout. `json PATH` wants it to be there, `! json PATH` not to be.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &v))
	there := true
	for _, key := range strings.Split(args[0], ".") {
		m, _ := v.(map[string]any)
		if v, there = m[key]; !there {
			break
		}
	}
	if there == neg {
		ts.Fatalf("%s: there: %t", args[0], there)
	}
	if got := fmt.Sprint(v); len(args) > 1 && got != args[1] {
		ts.Fatalf("%s is %s, want %s", args[0], got, args[1])
	}
}

// cmdFits is `fits ROWS COLUMNS`: stdout is no larger than that.
func cmdFits(ts *testscript.TestScript, _ bool, args []string) {
	rows, err := strconv.Atoi(args[0])
	ts.Check(err)
	columns, err := strconv.Atoi(args[1])
	ts.Check(err)
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile("stdout"), "\n"), "\n")
	if len(lines) > rows {
		ts.Fatalf("%d lines, at most %d fit", len(lines), rows)
	}
	for _, l := range lines {
		if utf8.RuneCountInString(l) > columns {
			ts.Fatalf("a line of %d columns, at most %d fit: %s", utf8.RuneCountInString(l), columns, l)
		}
	}
}

// cmdPack is `pack gzip|zstd FROM TO`.
func cmdPack(ts *testscript.TestScript, _ bool, args []string) {
	out, err := os.Create(ts.MkAbs(args[2]))
	ts.Check(err)
	defer out.Close()
	var w io.WriteCloser = gzip.NewWriter(out)
	if args[0] == "zstd" {
		w, err = zstd.NewWriter(out)
		ts.Check(err)
	}
	_, err = io.WriteString(w, ts.ReadFile(args[1]))
	ts.Check(err)
	ts.Check(w.Close())
}

// cmdTerminal is `terminal PROGRAM ARGS...`: stdin, stdout and stderr are a
// terminal of 80 columns and 24 rows; what it shows is the command's stdout.
func cmdTerminal(ts *testscript.TestScript, neg bool, args []string) {
	path, err := exec.LookPath(args[0])
	if err != nil {
		path = filepath.Join(strings.Split(ts.Getenv("PATH"), string(os.PathListSeparator))[0], args[0])
	}
	shown, err := onTerminal(exec.Command(path, args[1:]...), ts.MkAbs("."))
	fmt.Fprint(ts.Stdout(), shown)
	if neg && err == nil {
		ts.Fatalf("unexpected success")
	}
	if !neg {
		ts.Check(err)
	}
}

package shell

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"edemux/cli/command"
	"edemux/cli/shell/shelltest"

	"github.com/stretchr/testify/require"
)

func TestKeys(t *testing.T) {
	for in, want := range map[string]string{
		"show ü\r": "show ü\r", "\x1b[A": "\x1b[A", "\x1bOA\x1bOF": "\x1b[A\x1b[F", "\x1b[1~\x1b[4~": "\x1b[H\x1b[F",
		"\x1b[1;5C\x1bb": "\x1b[1;3C\x1b[1;3D", "\x1b\x7f": "\x17", "\x1bx": "x", "a\x1b": "a", "a\x1b[1;": "a", "\x1b[" + strings.Repeat("1", 30) + "a": strings.Repeat("1", 30) + "a",
		"\x1b[200~a\tb\x07c\x1b[Ad\re\x03f\x1b[201~\t": "\x1b[200~a bcd\ref\x1b[201~\t",
	} {
		for name, r := range map[string]io.Reader{"at once": strings.NewReader(in), "byte by byte": iotest.OneByteReader(strings.NewReader(in))} {
			got, err := io.ReadAll(&keys{in: r})
			require.NoError(t, err)
			require.Equal(t, want, string(got), "%q %s", in, name)
		}
	}
}

// Ctrl-C comes alone, marked, and takes what was typed after it along.
func TestKeysInterrupt(t *testing.T) {
	k := &keys{in: io.MultiReader(strings.NewReader("ab\x03cd"), strings.NewReader("e"))}
	p := make([]byte, 256)
	for _, want := range []string{"ab", "\x03", "e"} {
		n, err := k.Read(p)
		require.NoError(t, err)
		require.Equal(t, want, string(p[:n]))
		require.Equal(t, want == "\x03", k.interrupted)
	}
	_, err := k.Read(p)
	require.Equal(t, io.EOF, err)
}

func FuzzKeys(f *testing.F) {
	for _, s := range []string{"show\r", "\x1b[200~x", "\x1b[1;5", "\x03\x1b\x03"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := io.ReadAll(&keys{in: strings.NewReader(in)})
		require.NoError(t, err)
		require.LessOrEqual(t, len(got), 3*len(in)+8)
	})
}

func names(k command.Kind) []string { return shelltest.Objects[k.String()] }

func TestCompletionWords(t *testing.T) {
	for line, want := range map[string]string{
		"sho": "show ", "show w": "workers ", "show workers we": "web/", "sysctl tcp_mid": "tcp_midstream", "sysctl udp_early_demux": "", "close web443/1": "web443/1 ",
		"nonsense ": "", "show ": "", "": "", "help sysc": "sysctl ",
	} {
		insert, _ := completion(line, names)
		require.Equal(t, want, insert, line)
	}
	_, list := completion("show v", names)
	require.Equal(t, []string{"version", "vrfs"}, list)
	_, list = completion("nonsense ", names)
	require.Empty(t, list)
	require.Equal(t, 2, overlap("show wo", "workers "))
}

func TestLiteralMark(t *testing.T) {
	for line, want := range map[string]bool{
		"": false, "show ": false, "show 'a": true, "show 'a'": false, `show "a\"`: true, `show a\`: true, "bind {name": true, "bind {name: b} ": false,
		"show vrfs | match ": false, "show vrfs | match re": true, `show "it's" `: false,
	} {
		require.Equal(t, want, literalMark(line), line)
	}
}

func TestInColumns(t *testing.T) {
	require.Equal(t, "  a   c\n  bb\n", inColumns([]string{"a", "bb", "c"}, 10))
	require.Equal(t, "  a\n  b\n", inColumns([]string{"a", "b"}, 1))
	for width := range 120 {
		text := inColumns(shelltest.Objects["socket"], width)
		for _, w := range shelltest.Objects["socket"] {
			require.Contains(t, text, w)
		}
	}
}

func TestScreenfuls(t *testing.T) {
	s := shelltest.NewScreen(20, 5)
	_, _ = s.Write([]byte(strings.ReplaceAll(screen("title that is too long for it", "1\n2\n3\n4\n5\n", 20, 5), "\n", "\r\n")))
	require.Equal(t, []string{"title that is too lo", "1", "2", "... 3 more lines: ma"}, s.Lines())
	_, _ = s.Write([]byte(strings.ReplaceAll(screen("t", "1\n", 20, 5), "\n", "\r\n")))
	require.Equal(t, []string{"t", "1"}, s.Lines())
}

package edemux_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")
	timings      = regexp.MustCompile(`in [0-9.]+ m?s \([0-9,]+ pps, `)
)

// TestReadmeShowsRealOutput runs every bin/edemux command of the README and
// compares what it prints with the lines below it, timings aside. Commands
// without output below them must succeed.
func TestReadmeShowsRealOutput(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	dir := t.TempDir()
	run := 0
	for _, block := range consoleBlock.FindAllStringSubmatch(string(text), -1) {
		for _, part := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			command, want, _ := strings.Cut(part, "\n")
			if !strings.HasPrefix(command, "bin/edemux ") || strings.Contains(command, " bench ") {
				continue // make, and what measures, run elsewhere
			}
			run++
			got := runReadme(t, dir, command)
			if strings.TrimSpace(want) != "" {
				require.Equal(t, plain(want), plain(got), "%s", command)
			}
		}
	}
	require.Greater(t, run, 5, "commands in the README")
}

// runReadme runs one line in a shell. Files that it writes land in dir.
func runReadme(t *testing.T, dir, command string) string {
	t.Helper()
	command = strings.NewReplacer("bin/edemux", program(t), " mixed.pcap", " "+dir+"/mixed.pcap", " edemux.yaml", " "+dir+"/edemux.yaml").Replace(command)
	out, err := exec.Command("sh", "-ec", command).Output()
	require.NoError(t, err, command)
	return string(out)
}

// plain takes timings and blanks at line ends away.
func plain(s string) string {
	s = timings.ReplaceAllString(s, "in TIME (")
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

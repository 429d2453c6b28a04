package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReorder(t *testing.T) {
	app := newApp(nil, io.Discard, io.Discard)
	for in, want := range map[string]string{
		"edemux replay a.pcap --json":                    "edemux replay --json -- a.pcap",
		"edemux replay --json a.pcap":                    "edemux replay --json -- a.pcap",
		"edemux replay a.pcap -c f.yaml b.pcap":          "edemux replay -c f.yaml -- a.pcap b.pcap",
		"edemux replay a.pcap --lcores=2 --set x=1 -q":   "edemux replay --lcores=2 --set x=1 -q -- a.pcap",
		"edemux replay - --json":                         "edemux replay --json -- -",
		"edemux replay --json -- --odd.pcap":             "edemux replay --json -- --odd.pcap",
		"edemux explain udp 1.2.3.4:5 6.7.8.9:1 --dev x": "edemux explain --dev x -- udp 1.2.3.4:5 6.7.8.9:1",
		"edemux bench pipeline --flows 3":                "edemux bench pipeline --flows 3",
		"edemux nonsense --x":                            "edemux --x -- nonsense",
		"edemux":                                         "edemux",
	} {
		assert.Equal(t, want, strings.Join(reorder(strings.Fields(in), app.Commands, app.Flags), " "), in)
	}
}

func TestUsageErrorsAreOneLine(t *testing.T) {
	for _, in := range []string{
		"edemux nonsense", "edemux replay", "edemux replay --no-such x", "edemux replay x --json --decisions -",
		"edemux replay --lcores", "edemux replay --lcores two x", "edemux check", "edemux version x", "edemux explain x",
		"edemux bench", "edemux bench nothing", "edemux --no-such",
	} {
		var stdout, stderr strings.Builder
		assert.Equal(t, 2, Main(strings.Fields(in), strings.NewReader(""), &stdout, &stderr), in)
		assert.Empty(t, stdout.String(), in)
		assert.Regexp(t, `^edemux: [^\n]+\n$`, stderr.String(), in)
	}
}

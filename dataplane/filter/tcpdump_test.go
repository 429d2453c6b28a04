package filter

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/bpf"

	"edemux/dataplane/capture"
	"edemux/dataplane/packet"
)

// unavailable skips a test that needs what this machine lacks; in strict mode
// it fails.
func unavailable(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("EDEMUX_STRICT") == "1" {
		t.Fatalf("%s is missing", what)
	}
	t.Skipf("%s is missing", what)
}

// tcpdumpProgram compiles an expression with tcpdump for a link type.
func tcpdumpProgram(t *testing.T, tool, dlt, expr string) *bpf.VM {
	t.Helper()
	out, err := exec.Command(tool, "-y", dlt, "-ddd", expr).Output()
	require.NoError(t, err, "%s %s", dlt, expr)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	var raw []bpf.RawInstruction
	for _, l := range lines[1:] {
		var n [4]uint64
		for i, w := range strings.Fields(l) {
			n[i], err = strconv.ParseUint(w, 10, 32)
			require.NoError(t, err)
		}
		raw = append(raw, bpf.RawInstruction{Op: uint16(n[0]), Jt: uint8(n[1]), Jf: uint8(n[2]), K: uint32(n[3])})
	}
	prog, ok := bpf.Disassemble(raw)
	require.True(t, ok)
	vm, err := bpf.NewVM(prog)
	require.NoError(t, err)
	return vm
}

var dltNames = map[uint16]string{
	// not NULL: tcpdump compiles its family field in the numbers of the machine it runs on
	packet.LinkEthernet: "EN10MB", packet.LinkRaw: "RAW", packet.LinkSLL: "LINUX_SLL", packet.LinkSLL2: "LINUX_SLL2",
}

// Expressions that both languages know, with the same meaning.
var shared = []string{
	"tcp", "udp", "icmp", "ip", "ip6", "icmp6", "not tcp", "not (udp or icmp)", "igmp",
	"port 53", "src port 80", "dst port 443", "tcp port 80", "udp port 53", "udp src port 53", "portrange 1024-32768", "not port 53",
	"host 192.168.1.1", "src host 10.0.0.1", "net 10.0.0.0/8", "src net 192.168.0.0/16", "dst net 224.0.0.0/4", "not net 192.168.0.0/16",
	"ip6 net fe80::/10", "src net 2000::/3", "host ff02::1", "src 10.0.0.1 or dst 10.0.0.1",
	"ip proto 17", "ip6 proto 58", "port 53 or 80 or 443", "tcp or udp and port 53", "udp and port 53 or tcp",
	"(tcp or udp) and not (net 10.0.0.0/8 or port 53)", "not not tcp && ! port 80 || icmp",
}

// comparable reports whether both languages look at the same bytes of a frame:
// tcpdump reads tagged frames and those behind IPv6 extension headers only when
// told to, and stops where the capture is cut.
func comparable(m *packet.Meta) bool {
	return m.NVLAN == 0 && m.Flags&(packet.Exthdr|packet.FragHdr|packet.L4Short|packet.L4Cut|packet.NonIPFrame) == 0 &&
		m.Reason == 0 && m.Punt == 0 && m.Proto != 33 && m.Proto != 136
}

func TestAgainstTcpdump(t *testing.T) {
	tool, err := exec.LookPath("tcpdump")
	if err != nil {
		unavailable(t, "tcpdump")
	}
	dir := os.Getenv("EDEMUX_CAPTURES")
	if dir == "" {
		dir = "../../../shared/pcap"
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.pcap*"))
	if len(files) == 0 {
		unavailable(t, "EDEMUX_CAPTURES")
	}
	type pair struct {
		ours   *Filter
		theirs map[uint16]*bpf.VM
	}
	var pairs []pair
	for _, expr := range shared {
		f, err := Compile(expr, FrameFields)
		require.NoError(t, err, expr)
		p := pair{f, map[uint16]*bpf.VM{}}
		for link, name := range dltNames {
			p.theirs[link] = tcpdumpProgram(t, tool, name, expr)
		}
		pairs = append(pairs, p)
	}
	frames, matched := 0, make([]int, len(pairs))
	for _, file := range files {
		if strings.HasSuffix(file, ".tsv") {
			continue
		}
		eachFrame(t, file, func(n int, f *packet.Frame, m *packet.Meta) {
			if dltNames[f.Link] == "" || !comparable(m) {
				return
			}
			frames++
			var s Subject
			s.SetMeta(m)
			for i, p := range pairs {
				took, err := p.theirs[f.Link].Run(f.Data)
				require.NoError(t, err)
				require.Equal(t, took > 0, p.ours.Match(&s), "%s frame %d: %s", filepath.Base(file), n, p.ours)
				if took > 0 {
					matched[i]++
				}
			}
		})
	}
	t.Logf("%d frames compared", frames)
	require.Greater(t, frames, 5000)
	for i, n := range matched {
		t.Logf("%6d %s", n, pairs[i].ours)
	}
}

func eachFrame(t *testing.T, file string, do func(int, *packet.Frame, *packet.Meta)) {
	t.Helper()
	r, err := capture.Open(file, capture.Options{})
	if errors.Is(err, capture.ErrNotCapture) {
		return
	}
	require.NoError(t, err, file)
	defer r.Close()
	var f packet.Frame
	for n := 1; ; n++ {
		err := r.Next(&f)
		if err == io.EOF {
			return
		}
		require.NoError(t, err, file)
		var m packet.Meta
		packet.Parse(&f, &packet.Options{}, &m)
		do(n, &f, &m)
	}
}

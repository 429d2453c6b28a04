package gen

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func unavailable(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("EDEMUX_STRICT") == "1" {
		t.Fatalf("%s is missing", what)
	}
	t.Skipf("%s is missing", what)
}

// tshark runs the tool on a capture with every checksum verified and returns
// the wanted fields, one line per frame that passes the display filter.
func tshark(t *testing.T, tool, file, filter string, fields ...string) []string {
	t.Helper()
	args := []string{"-n", "-r", file, "-Y", filter, "-T", "fields",
		"-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"}
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	cmd := exec.Command(tool, args...)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	require.NoError(t, err, complaint.String())
	for _, l := range strings.Split(complaint.String(), "\n") {
		if l != "" && !strings.Contains(l, "Running as user") {
			t.Fatalf("tshark complains: %s", l)
		}
	}
	text := strings.TrimSuffix(string(out), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

const wrong = "_ws.malformed || _ws.expert.severity >= 0x800000 || ip.checksum.status == 0 || tcp.checksum.status == 0 || " +
	"udp.checksum.status == 0 || icmp.checksum.status == 0 || icmpv6.checksum.status == 0 || " +
	"tcp.analysis.lost_segment || tcp.analysis.retransmission || tcp.analysis.ack_lost_segment || tcp.analysis.out_of_order"

func TestTsharkReads(t *testing.T) {
	tool, err := exec.LookPath("tshark")
	if err != nil {
		unavailable(t, "tshark")
	}
	for name, c := range map[string]struct {
		o      Options
		filter string // this many frames must pass it
		n      int
	}{
		"udp":       {Options{Flows: 100, Data: 2}, "udp.dstport == 9000", 200},
		"tcp":       {Options{Proto: "tcp", Both: true, Flows: 50, Size: "100-1514"}, "tcp.flags.syn == 1", 100},
		"tcp twice": {Options{Proto: "tcp", Both: true, Flows: 20, Packets: 20 * 14 * 2, Family: "v6"}, "tcp.flags.fin == 1", 80},
		"rst":       {Options{Proto: "tcp", Both: true, Flows: 20, End: "rst"}, "tcp.flags.reset == 1", 20},
		"fragments": {Options{Size: "5000", MTU: 1400, Flows: 10, Data: 1, Family: "mixed"}, "ip.reassembled.length == 4966 || ipv6.reassembled.length == 4946", 10},
		"icmp":      {Options{ICMP: 100, Flows: 40, Data: 1, Family: "mixed"}, "icmp.type == 3 || icmp.type == 11 || icmpv6.type == 1 || icmpv6.type == 3", 40},
		"multicast": {Options{Multicast: 100, Flows: 40, Data: 1, Family: "mixed"}, "eth.dst.ig == 1 && (ip.dst == 224.0.0.0/4 || ipv6.dst == ff00::/8)", 40},
		"vlan":      {Options{VLANs: []string{"10", "100.20", "none"}, Flows: 30, Data: 1}, "vlan.id == 10 || ieee8021ad.id == 100", 20},
		"pcapng":    {Options{Format: "pcapng", Interfaces: 3, Flows: 30, Data: 1, Both: true, Resolution: "us"}, "frame.interface_name == \"port1\"", 20},
		"sll":       {Options{Link: "sll", Both: true, Flows: 10, Data: 1}, "sll.pkttype == 4", 10},
		"sll2":      {Options{Link: "sll2", Both: true, Flows: 10, Data: 1, VLANs: []string{"100.20"}}, "sll.pkttype == 4 && udp", 10},
		"raw":       {Options{Link: "raw", Family: "mixed", Flows: 10, Data: 1}, "udp", 10},
		"null":      {Options{Link: "null", Family: "mixed", Flows: 10, Data: 1}, "ipv6 && udp", 5},
		"imix":      {Options{Size: "imix", Packets: 500, Proto: "mixed", Order: "zipf", Flows: 100}, "ip", 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "x."+map[string]string{"": "pcap", "pcapng": "pcapng"}[c.o.Format])
			raw := generate(t, c.o)
			require.NoError(t, os.WriteFile(file, raw, 0o600))
			require.Empty(t, tshark(t, tool, file, wrong, "frame.number", "_ws.expert.message"))
			frames := read(t, raw)
			passed := tshark(t, tool, file, c.filter, "frame.number", "frame.time_epoch", "frame.len")
			require.Len(t, passed, c.n)
			for _, l := range passed {
				f := strings.Split(l, "\t")
				i, err := strconv.Atoi(f[0])
				require.NoError(t, err)
				require.Equal(t, strconv.Itoa(len(frames[i-1].Data)), f[2])
				require.Equal(t, strconv.FormatInt(frames[i-1].TS, 10), strings.Replace(f[1], ".", "", 1))
			}
		})
	}
}

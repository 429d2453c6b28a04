package packet_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"edemux/dataplane/capture"
	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
)

// capturesDir is the folder of real captures with their expectations.
func capturesDir(t *testing.T) string {
	dir := os.Getenv("EDEMUX_CAPTURES")
	if dir == "" {
		dir = "../../../shared/pcap"
	}
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("EDEMUX_STRICT") == "1" {
			t.Fatalf("no captures: set EDEMUX_CAPTURES: %v", err)
		}
		t.Skipf("no captures: set EDEMUX_CAPTURES: %v", err)
	}
	return dir
}

// TestCorpus holds Parse to every real capture, frame by frame.
func TestCorpus(t *testing.T) {
	dir := capturesDir(t)
	files, err := filepath.Glob(filepath.Join(dir, "*.expect.tsv"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	total := 0
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".expect.tsv"), func(t *testing.T) {
			total += checkCapture(t, strings.TrimSuffix(f, ".expect.tsv"), readExpect(t, f))
		})
	}
	t.Logf("%d frames held to their expectation", total)
}

type expect map[string]string

func readExpect(t *testing.T, file string) []expect {
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	var cols []string
	var rows []expect
	for s := bufio.NewScanner(f); s.Scan(); {
		line := s.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Split(line, "\t")
		if cols == nil {
			cols = fields
			continue
		}
		r := expect{}
		for i, c := range cols {
			r[c] = fields[i]
		}
		rows = append(rows, r)
	}
	return rows
}

// covered tells the link paths that Parse reads up to the IP header.
func covered(path string) bool {
	for _, p := range strings.Split(path, ":") {
		switch p {
		case "eth", "ethertype", "vlan", "ieee8021ad", "sll", "null", "raw", "ip", "ipv6", "arp":
		default:
			return false
		}
	}
	return true
}

func checkCapture(t *testing.T, file string, rows []expect) (checked int) {
	r, err := capture.Open(file, capture.Options{})
	require.NoError(t, err)
	defer r.Close()
	var f packet.Frame
	var m packet.Meta
	for i := 0; ; i++ {
		if err := r.Next(&f); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		packet.Parse(&f, &packet.Options{VerifyIP: true, VerifyL4: true}, &m)
		if i >= len(rows) {
			continue
		}
		row := rows[i]
		if counted(&m) == "" {
			t.Errorf("frame %s: neither tuple, reason nor punt", row["frame"])
		}
		got := observe(&f, &m)
		if strings.Contains(row["flags"], "nohdr") && covered(row["l2path"]) {
			if m.Reason == mib.NotDropped {
				t.Errorf("frame %s: unusable header is no drop", row["frame"])
			}
			delete(row, "ipver")
		}
		if row["bytes"] != "=" {
			continue
		}
		if !covered(row["l2path"]) && m.Punt != mib.NotPunted {
			checkColumns(t, row, got, "vlans")
			continue
		}
		checkColumns(t, row, got, "src", "dst", "proto", "sport", "dport", "vlans", "ipver", "frag_off", "mf", "icmp", "emb")
		checked++
	}
	return checked
}

func checkColumns(t *testing.T, row, got expect, cols ...string) {
	for _, c := range cols {
		if row[c] != got[c] {
			t.Errorf("frame %s (%s, %s): %s: got %q, want %q", row["frame"], row["l2path"], row["flags"], c, got[c], row[c])
		}
	}
}

// counted names what decides the frame's fate.
func counted(m *packet.Meta) string {
	switch {
	case m.Reason != mib.NotDropped:
		return m.Reason.String()
	case m.Punt != mib.NotPunted:
		return m.Punt.String()
	case m.Has(packet.HasTuple):
		return "tuple"
	}
	return ""
}

// observe writes what m says in the columns of the expectations.
func observe(f *packet.Frame, m *packet.Meta) expect {
	e := expect{}
	if m.Has(packet.HasSaddr) {
		e["ipver"] = fmt.Sprint(m.IPVer)
	}
	if m.Has(packet.HasSaddr) {
		e["src"] = m.Saddr.String()
	}
	if m.Has(packet.HasTuple) {
		e["dst"] = m.Daddr.String()
	}
	if m.Has(packet.HasProto) {
		e["proto"] = fmt.Sprint(m.Proto)
	}
	if m.Has(packet.HasPorts) {
		e["sport"], e["dport"] = fmt.Sprint(m.Sport), fmt.Sprint(m.Dport)
	}
	var tags []string
	for _, v := range packet.VLANStack(f, nil) {
		tags = append(tags, strconv.Itoa(int(v)))
	}
	e["vlans"] = strings.Join(tags, ",")
	if m.IPVer == 4 && m.Has(packet.HasTuple) || m.Has(packet.FragHdr) {
		e["frag_off"], e["mf"] = fmt.Sprint(m.FragOff), "0"
		if m.Has(packet.Fragment) && m.MoreFrags {
			e["mf"] = "1"
		}
	}
	if m.Has(packet.HasICMP) {
		e["icmp"] = fmt.Sprintf("%d/%d", m.ICMPType, m.ICMPCode)
	}
	if m.Has(packet.ICMPError) {
		in, _ := packet.Embedded(f.Data, m)
		if in.IPVer != 0 {
			e["emb"] = fmt.Sprintf("%s,%s,%d", in.Saddr, in.Daddr, in.Proto)
			if in.HasPorts {
				e["emb"] += fmt.Sprintf(",%d,%d", in.Sport, in.Dport)
			} else {
				e["emb"] += ",,"
			}
		}
	}
	return e
}

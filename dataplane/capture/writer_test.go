package capture

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"edemux/dataplane/packet"

	"github.com/stretchr/testify/require"
)

// udp4 is a valid IPv4 datagram of UDP with n bytes of payload, checksums 0.
func udp4(n int) []byte {
	e := &enc{big: true}
	e.u8(0x45, 0).u16(uint16(28+n)).u32(0).u8(64, 17).u16(0).u32(0x0a000001, 0x0a000002)
	return e.u16(1000).u16(2000).u16(uint16(8 + n)).u16(0).u8(make([]byte, n)...).b
}

func ether(payload []byte) []byte {
	return append([]byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0}, payload...)
}

// tshark prints the fields of a file, one line a frame, and fails the test when
// tshark complains.
func tshark(t *testing.T, file []byte, fields ...string) []string {
	t.Helper()
	bin, err := exec.LookPath("tshark")
	if err != nil {
		if os.Getenv("EDEMUX_STRICT") == "1" {
			t.Fatal("tshark is not installed")
		}
		t.Skip("tshark is not installed")
	}
	path := filepath.Join(t.TempDir(), "out.pcapng")
	require.NoError(t, os.WriteFile(path, file, 0o600))
	args := []string{"-n", "-r", path, "-T", "fields", "-E", "separator=|"}
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(bin, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	var complaints []string
	for _, l := range strings.Split(strings.TrimSpace(stderr.String()), "\n") {
		if l != "" && !strings.HasPrefix(l, "Running as user") {
			complaints = append(complaints, l)
		}
	}
	require.Empty(t, complaints)
	require.NoError(t, err)
	return strings.Split(strings.TrimRight(stdout.String(), "\n"), "\n")
}

func TestNGWriterReadByTshark(t *testing.T) {
	var out bytes.Buffer
	w, err := NewNGWriter(&out, "edemux test")
	require.NoError(t, err)
	frames := []struct {
		iface, comment string
		packet.Frame
		want string // frame.number onwards
	}{
		{"eth0", "", packet.Frame{Data: ether(udp4(3)), TS: 1_700_000_000_123_456_789, WireLen: 45, Link: packet.LinkEthernet},
			"1|1700000000.123456789|45|45|eth0|||1|10.0.0.1"},
		{"eth1", "drop NO_SOCKET", packet.Frame{Data: ether(udp4(9))[:40], TS: 1_700_000_000_000_000_001, WireLen: 51, Link: packet.LinkEthernet,
			Dir: packet.DirIn, HasPktType: true, PktType: packet.Multicast},
			"2|1700000000.000000001|51|40|eth1|0x00000009|drop NO_SOCKET|1|10.0.0.1"},
		{"", "zwei\u00a0Wörter", packet.Frame{Data: udp4(0), TS: 0, WireLen: 28, Link: packet.LinkRaw, HasQueue: true, CPU: 3, Dir: packet.DirOut},
			"3|0.000000000|28|28|unknown|0x00000002|zwei\u00a0Wörter|7|10.0.0.1"},
		{"eth0", "", packet.Frame{Data: append([]byte{0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 2, 0, 0, 8, 0}, udp4(1)...), TS: 1e9, WireLen: 45, Link: packet.LinkSLL,
			HasPktType: true, PktType: packet.OtherHost},
			"4|1.000000000|45|45|eth0|0x00000010||25|10.0.0.1"},
		{"eth0", strings.Repeat("long ", 9), packet.Frame{Data: ether(udp4(5000)), TS: 2e9, WireLen: 1, Link: packet.LinkEthernet},
			"5|2.000000000|5042|5042|eth0||" + strings.Repeat("long ", 9) + "|1|10.0.0.1"},
	}
	for i := range frames {
		f := &frames[i]
		id, err := w.Interface(f.iface, f.Link)
		require.NoError(t, err)
		require.NoError(t, w.Write(id, &f.Frame, f.comment))
	}
	require.NoError(t, w.Flush())

	lines := tshark(t, out.Bytes(), "frame.number", "frame.time_epoch", "frame.len", "frame.cap_len",
		"frame.interface_name", "frame.packet_flags", "frame.comment", "frame.encap_type", "ip.src")
	require.Len(t, lines, len(frames))
	for i, f := range frames {
		require.Equal(t, f.want, lines[i])
	}

	r := newReader(t, out.Bytes())
	got := readAll(t, r)
	require.Empty(t, r.Warnings())
	for i, f := range frames {
		f.WireLen = max(f.WireLen, uint32(len(f.Data)))
		require.Equal(t, f.Frame, got[i].Frame)
		require.Equal(t, f.iface, r.Interfaces()[got[i].Iface].Name)
	}
	require.Len(t, r.Interfaces(), 4, "eth0 has two link types")
}

func TestPcapWriterReadByTshark(t *testing.T) {
	var out bytes.Buffer
	w, err := NewPcapWriter(&out, packet.LinkIPv4)
	require.NoError(t, err)
	for i := range 20 {
		f := packet.Frame{Data: udp4(i), TS: int64(i)*1e9 + 987654321, WireLen: uint32(28 + i), Link: packet.LinkIPv4}
		require.NoError(t, w.Write(&f))
	}
	require.NoError(t, w.Flush())
	lines := tshark(t, out.Bytes(), "frame.time_epoch", "frame.cap_len", "udp.srcport")
	require.Len(t, lines, 20)
	fs := requireClean(t, out.Bytes())
	for i, l := range lines {
		require.Equal(t, fmt.Sprintf("%d.987654321|%d|1000", i, 28+i), l)
		require.Equal(t, packet.Frame{Data: udp4(i), TS: int64(i)*1e9 + 987654321, WireLen: uint32(28 + i), Link: packet.LinkIPv4}, fs[i].Frame)
	}
}

func TestEmptyOutputsReadByTshark(t *testing.T) {
	var out bytes.Buffer
	w, err := NewNGWriter(&out, "")
	require.NoError(t, err)
	require.NoError(t, w.Flush())
	require.Equal(t, []string{""}, tshark(t, out.Bytes(), "frame.number"))
	require.Empty(t, requireClean(t, out.Bytes()))
	out.Reset()
	p, err := NewPcapWriter(&out, 1)
	require.NoError(t, err)
	require.NoError(t, p.Flush())
	require.Equal(t, []string{""}, tshark(t, out.Bytes(), "frame.number"))
	require.Empty(t, requireClean(t, out.Bytes()))
}

func TestWritersRefuse(t *testing.T) {
	var out bytes.Buffer
	p, err := NewPcapWriter(&out, 1)
	require.NoError(t, err)
	require.ErrorContains(t, p.Write(&packet.Frame{Link: 113}), "frame of link type 113 in a pcap file of link type 1")
	require.ErrorIs(t, p.Write(&packet.Frame{Link: 1, Data: make([]byte, MaxRecord+1)}), ErrTooLong)
	require.NoError(t, p.Write(&packet.Frame{Link: 1, Data: make([]byte, MaxRecord), TS: -5}))
	require.NoError(t, p.Write(&packet.Frame{Link: 1, TS: maxTS}))
	require.NoError(t, p.Flush())
	fs := requireClean(t, out.Bytes())
	require.Len(t, fs, 2, "what was refused is not there")
	require.Equal(t, int64(0), fs[0].TS)
	require.Equal(t, int64(4294967295_999999999), fs[1].TS)

	out.Reset()
	w, err := NewNGWriter(&out, "")
	require.NoError(t, err)
	require.ErrorContains(t, w.Write(0, &packet.Frame{}, ""), "interface 0 is not described")
	id, err := w.Interface("x", 1)
	require.NoError(t, err)
	require.ErrorIs(t, w.Write(id, &packet.Frame{Data: make([]byte, MaxRecord+1)}, ""), ErrTooLong)
	require.Error(t, w.Write(-1, &packet.Frame{}, ""))
	require.NoError(t, w.Write(id, &packet.Frame{TS: -1, Data: make([]byte, MaxRecord)}, strings.Repeat("c", 70_000)))
	require.NoError(t, w.Flush())
	require.Equal(t, int64(0), requireClean(t, out.Bytes())[0].TS)
}

// A comment is cut where the length field ends, never inside a character.
func TestCommentsAreCut(t *testing.T) {
	for shift := range 4 {
		var p NGWriter
		p.option(optComment, strings.Repeat("x", shift)+strings.Repeat("\U0001f600", 20_000))
		code, val, rest, ok := nextOption(p.b, le)
		require.True(t, ok)
		require.Equal(t, uint16(optComment), code)
		require.Empty(t, rest)
		require.True(t, utf8.Valid(val))
		require.Greater(t, len(val), 65531)
	}
	var p NGWriter
	p.option(optComment, strings.Repeat("\x80", 70_000)) // no character at all
	_, val, _, ok := nextOption(p.b, le)
	require.True(t, ok)
	require.Greater(t, len(val), 65530)
}

type failing struct{ left int }

func (w *failing) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(p), nil
}

func TestWriterErrorsStay(t *testing.T) {
	w, err := NewNGWriter(&failing{left: 100_000}, "")
	require.NoError(t, err)
	id, err := w.Interface("", 1)
	require.NoError(t, err)
	f := packet.Frame{Data: make([]byte, 1000), Link: 1}
	for range 200 {
		err = w.Write(id, &f, "")
	}
	require.EqualError(t, err, "no space left on device")
	require.Equal(t, err, w.Flush())
	_, again := w.Interface("later", 1)
	require.Equal(t, err, again)
}

func TestFlagsRoundTrip(t *testing.T) {
	for dir := packet.DirUnknown; dir <= packet.DirOut; dir++ {
		for typ := packet.Host; typ <= packet.OtherHost; typ++ {
			for _, has := range []bool{false, true} {
				f := packet.Frame{Dir: dir, HasPktType: has}
				if has {
					f.PktType = typ
				}
				var g packet.Frame
				setFlags(&g, flagsOf(&f))
				require.Equal(t, f, g)
			}
		}
	}
}

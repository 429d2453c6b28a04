package gen

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"edemux/dataplane/capture"
	"edemux/dataplane/packet"
	"edemux/flowtable"
)

func generate(t testing.TB, o Options) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Generate(&b, o))
	return b.Bytes()
}

// seen is a frame read back, with its bytes.
type seen struct {
	packet.Frame
	packet.Meta
	iface int
}

// read parses a capture with this repository's reader and parser and demands
// that every checksum is right.
func read(t testing.TB, raw []byte) (out []seen) {
	t.Helper()
	r, err := capture.NewReader(bytes.NewReader(raw), "gen", capture.Options{})
	require.NoError(t, err)
	for {
		var s seen
		err := r.Next(&s.Frame)
		if err == io.EOF {
			require.Empty(t, r.Warnings())
			return out
		}
		require.NoError(t, err)
		s.Data = bytes.Clone(s.Data)
		s.iface = r.Interface()
		packet.Parse(&s.Frame, &packet.Options{VerifyIP: true, VerifyL4: true}, &s.Meta)
		require.Zero(t, s.Reason, "frame %d: %x", len(out)+1, s.Data)
		require.Zero(t, s.Meta.Flags&(packet.L4CsumBad|packet.L4Short|packet.L4Cut), "frame %d: %x", len(out)+1, s.Data)
		out = append(out, s)
	}
}

func (s *seen) key() flowtable.Key { return flowtable.KeyOf(s.Saddr, s.Daddr, s.Sport, s.Dport) }

func hash(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:8])
}

// The bytes are part of the contract: captures made by older versions are
// compared with newer ones. A change here must be meant.
func TestGoldenBytes(t *testing.T) {
	for name, c := range goldens {
		raw := generate(t, c.o)
		require.Equal(t, c.sum, hash(raw), name)
		require.Equal(t, raw, generate(t, c.o), "%s: not the same the second time", name)
		o := c.o
		o.Seed += 1000
		require.NotEqual(t, raw, generate(t, o), "%s: the seed changes nothing", name)
		read(t, raw)
	}
}

var goldens = map[string]struct {
	o   Options
	sum string
}{
	"default": {Options{}, "3175f5ae6895de07"},
	"tcp":     {Options{Proto: "tcp", Both: true, Flows: 50, Order: "shuffle", Size: "imix", Seed: 1}, "1bd7ecfb10a2f3fc"},
	"mixed": {Options{Proto: "mixed", Family: "mixed", Flows: 60, Order: "random", Size: "60-3000", MTU: 1400, ICMP: 10, Multicast: 20,
		VLANs: []string{"10", "100.20", "none"}, Format: "pcapng", Interfaces: 2, Resolution: "us", Seed: 2, Packets: 2000}, "8884d9ef771dd6e9"},
	"zipf": {Options{Order: "zipf", Flows: 500, Packets: 3000, Link: "sll", Rate: 3, Seed: 3}, "7a7a0077016d35ea"},
}

func TestOneLifeOfEveryFlow(t *testing.T) {
	for _, order := range []string{"robin", "shuffle"} {
		count := map[flowtable.Key]int{}
		for _, s := range read(t, generate(t, Options{Flows: 300, Data: 3, Order: order})) {
			require.EqualValues(t, 17, s.Proto)
			require.Len(t, s.Data, 60)
			require.Equal(t, "10.0.0.1", s.Daddr.String())
			require.EqualValues(t, 9000, s.Dport)
			require.True(t, netip.MustParsePrefix("198.18.0.0/15").Contains(s.Saddr.Netip()))
			count[s.key()]++
		}
		require.Len(t, count, 300)
		for k, n := range count {
			require.Equal(t, 3, n, k)
		}
	}
}

// Sequence numbers follow RFC 9293 seen from the middle: each side's next one
// is what the other acknowledges.
func TestTCPLives(t *testing.T) {
	const (
		syn, ack, psh, fin, rst = packet.SYN, packet.ACK, packet.PSH, packet.FIN, packet.RST
	)
	for _, c := range []struct {
		o     Options
		flags []int // negative: from the local side
	}{
		{Options{}, []int{syn, ack, psh | ack, psh | ack, fin | ack, ack}},
		{Options{Both: true}, []int{syn, -(syn | ack), ack, psh | ack, -ack, psh | ack, -ack, fin | ack, -(fin | ack), ack}},
		{Options{End: "rst"}, []int{syn, ack, psh | ack, psh | ack, rst | ack}},
		{Options{End: "none", NoHandshake: true}, []int{psh | ack, psh | ack}},
	} {
		c.o.Proto, c.o.Flows, c.o.Data, c.o.Size, c.o.Family = "tcp", 20, 2, "100-900", "mixed"
		c.o.Packets = int64(3 * 20 * len(c.flags)) // three lives
		lives := map[flowtable.Key][]seen{}
		for _, s := range read(t, generate(t, c.o)) {
			k := s.key()
			if s.Dport != 9000 {
				k = flowtable.KeyOf(s.Daddr, s.Saddr, s.Dport, s.Sport)
			}
			lives[k] = append(lives[k], s)
		}
		require.Len(t, lives, 20)
		for _, packets := range lives {
			checkLives(t, packets, c.flags, c.o.End != "none")
		}
	}
}

func checkLives(t *testing.T, packets []seen, flags []int, restarts bool) {
	t.Helper()
	var next [2]uint32 // by side: remote, local
	var known [2]bool
	for i, s := range packets {
		want, side := flags[i%len(flags)], 0
		if want < 0 {
			want, side = -want, 1
		}
		require.EqualValues(t, want, s.TCPFlags, "packet %d", i)
		require.Equal(t, side == 1, s.Dport != 9000, "packet %d", i)
		if i%len(flags) == 0 && i > 0 && restarts {
			require.Greater(t, int32(s.Seq-next[side]), int32(0), "acceptable on TIME_WAIT")
			known = [2]bool{}
		}
		if known[side] {
			require.Equal(t, next[side], s.Seq, "packet %d", i)
		}
		if known[1-side] && s.TCPFlags&packet.ACK != 0 {
			require.Equal(t, next[1-side], s.Ack, "packet %d", i)
		}
		n := s.L3 + s.L3Len - s.Payload
		if s.TCPFlags&(packet.SYN|packet.FIN) != 0 {
			n++
		}
		next[side], known[side] = s.Seq+n, true
	}
}

func TestTuplesDiffer(t *testing.T) {
	for _, o := range []Options{
		{Flows: 200_000},
		{Flows: 70_000, Remote: []netip.Prefix{netip.MustParsePrefix("192.0.2.9/32")}, LocalPorts: "53-55"},
		{Flows: 100_000, Family: "mixed", Proto: "mixed", LocalPorts: "1-7", Local: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/29")}},
	} {
		type id struct {
			k   flowtable.Key
			tcp bool
		}
		have := map[id]bool{}
		require.NoError(t, EachFlow(o, func(k flowtable.Key, tcp bool) { have[id{k, tcp}] = true }))
		require.Len(t, have, o.Flows)
	}
}

func TestFragments(t *testing.T) {
	for _, family := range []string{"v4", "v6"} {
		frames := read(t, generate(t, Options{Family: family, Flows: 3, Data: 2, Size: "4000", MTU: 1400}))
		got := map[[2]any]map[uint32]uint32{}
		for _, s := range frames {
			require.True(t, s.Has(packet.Fragment))
			require.LessOrEqual(t, s.L3Len, uint32(1400))
			k := [2]any{s.Saddr, s.FragID}
			if got[k] == nil {
				got[k] = map[uint32]uint32{}
			}
			got[k][s.FragOff] = s.L4Len
			require.Equal(t, s.FragOff == 0, s.Has(packet.HasPorts))
		}
		require.Len(t, got, 6, "datagrams")
		for _, parts := range got {
			at := uint32(0)
			for range parts {
				n, ok := parts[at]
				require.True(t, ok, "hole at %d in %v", at, parts)
				at += n
			}
			want := uint32(4000 - 14 - 20)
			if family == "v6" {
				want -= 20
			}
			require.Equal(t, want, at)
		}
	}
	for _, s := range read(t, generate(t, Options{Proto: "tcp", Size: "4000", MTU: 1400, Flows: 5})) {
		require.False(t, s.Has(packet.Fragment), "TCP keeps below the MTU")
		require.LessOrEqual(t, s.L3Len, uint32(1400))
	}
}

func TestICMPErrors(t *testing.T) {
	errors, others := 0, 0
	keys := map[flowtable.Key]bool{}
	o := Options{Family: "mixed", Proto: "mixed", ICMP: 30, Flows: 200, Both: true, Size: "60-1500"}
	require.NoError(t, EachFlow(o, func(k flowtable.Key, _ bool) { keys[k] = true }))
	for _, s := range read(t, generate(t, o)) {
		if !s.Has(packet.ICMPError) {
			others++
			continue
		}
		errors++
		e, ok := packet.Embedded(s.Data, &s.Meta)
		require.True(t, ok)
		require.True(t, keys[flowtable.Key{Laddr: e.Saddr, Faddr: e.Daddr, Lport: e.Sport, Fport: e.Dport}], "about a datagram of ours")
	}
	require.InDelta(t, 0.3, float64(errors)/float64(others), 0.05)
}

func TestMulticast(t *testing.T) {
	flows := map[flowtable.Key]bool{}
	n := 0
	for _, s := range read(t, generate(t, Options{Family: "mixed", Multicast: 40, Flows: 500, Data: 1, Both: true})) {
		if s.Daddr.Netip().IsMulticast() {
			n++
			require.Equal(t, packet.Multicast, s.Meta.PktType)
			flows[s.key()] = true
		}
	}
	require.Equal(t, n, len(flows))
	require.InDelta(t, 200, n, 40)
}

// Flows of different length in one capture: each lives exactly once.
func TestMixedLives(t *testing.T) {
	count := map[flowtable.Key]int{}
	for _, s := range read(t, generate(t, Options{Proto: "mixed", Flows: 100, Data: 2, Order: "shuffle"})) {
		k := s.key()
		k.Laddr = flowtable.V4(uint32(s.Proto)) // UDP and TCP may share a tuple
		count[k]++
	}
	require.Len(t, count, 100)
	for k, n := range count {
		require.Equal(t, map[uint32]int{6: 6, 17: 2}[k.Laddr.As4()], n)
	}
}

func TestVLANs(t *testing.T) {
	for _, link := range []string{"ethernet", "sll", "sll2"} {
		count := map[uint64]int{}
		for _, s := range read(t, generate(t, Options{Link: link, Family: "mixed", Flows: 60, Data: 1, VLANs: []string{"10", "100.20", "none", "1.2.3"}})) {
			count[s.VLANs]++
			require.True(t, s.Has(packet.HasPorts))
		}
		require.Equal(t, map[uint64]int{10: 15, 20<<16 | 100: 15, 0: 15, 3<<32 | 2<<16 | 1: 15}, count, link)
	}
}

func TestLinkTypes(t *testing.T) {
	for i, link := range linkNames {
		for _, format := range []string{"pcap", "pcapng"} {
			out := 0
			for _, s := range read(t, generate(t, Options{Link: link, Format: format, Family: "mixed", Both: true, Flows: 10})) {
				require.Equal(t, linkTypes[i], s.Link)
				require.True(t, s.Has(packet.HasPorts))
				if s.Sport == 9000 && (s.Dir == packet.DirOut || s.Meta.PktType == packet.Outgoing) {
					out++
				}
			}
			if format == "pcapng" || strings.HasPrefix(link, "sll") {
				require.Equal(t, 40, out, "%s %s: the capture says what the host sent", link, format)
			}
		}
	}
}

func TestTimes(t *testing.T) {
	const n = 100
	for _, c := range []struct {
		rate   uint64
		format string
		res    string
	}{{1e6, "pcap", "ns"}, {7, "pcap", "ns"}, {3, "pcapng", "us"}, {1e9, "pcapng", "ns"}, {123457, "pcap", "us"}} {
		o := Options{Packets: n, Rate: c.rate, Format: c.format, Resolution: c.res, Start: 1e18 + 999_999_000}
		for i, s := range read(t, generate(t, o)) {
			want := o.Start + int64(uint64(i)*second/c.rate)
			if c.res == "us" {
				want -= want % 1000
			}
			require.Equal(t, want, s.TS, "%+v frame %d", c, i)
		}
	}
}

func TestInterfaces(t *testing.T) {
	count := map[int]int{}
	for _, s := range read(t, generate(t, Options{Format: "pcapng", Interfaces: 3, Flows: 30, Data: 1})) {
		count[s.iface]++
	}
	require.Equal(t, map[int]int{0: 10, 1: 10, 2: 10}, count)
}

func TestSizes(t *testing.T) {
	count := map[int]int{}
	for _, s := range read(t, generate(t, Options{Size: "imix", Packets: 12_000})) {
		count[len(s.Data)]++
	}
	require.Len(t, count, 3)
	require.InDelta(t, 7000, count[60], 300)
	require.InDelta(t, 4000, count[590], 300)
	require.InDelta(t, 1000, count[1514], 150)
	for _, size := range []string{"60", "9014", "65549"} {
		for _, s := range read(t, generate(t, Options{Size: size, Packets: 20, Link: "raw"})) {
			require.Equal(t, size, strconv.Itoa(len(s.Data)+ethernetLen))
		}
	}
}

func TestPackets(t *testing.T) {
	for _, n := range []int64{1, 7, 1000, 4321} {
		o := Options{Packets: n, Proto: "mixed", Size: "60-3000", MTU: 1000, ICMP: 50}
		require.Len(t, read(t, generate(t, o)), int(n), "fragments and errors count")
	}
}

func TestFrames(t *testing.T) {
	o := Options{Flows: 1000, Packets: 5000, Order: "shuffle", Seed: 5}
	frames, err := Frames(o)
	require.NoError(t, err)
	want := read(t, generate(t, o))
	require.Len(t, frames, len(want))
	for i := range frames {
		require.Equal(t, want[i].Data, frames[i])
		require.Len(t, frames[i], 60)
	}
}

// failing is a writer that has room for n bytes.
type failing struct{ n int }

var errFull = errors.New("no room")

func (f *failing) Write(b []byte) (int, error) {
	if f.n -= len(b); f.n < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestWriteErrors(t *testing.T) {
	require.ErrorIs(t, Generate(&failing{1 << 20}, Options{Packets: 1 << 40}), errFull, "and it stops")
	require.ErrorIs(t, WriteFlows(&failing{100}, Options{Flows: 100_000}), errFull)
}

// Memory does not grow with the number of packets.
func TestConstantMemory(t *testing.T) {
	run := func(n int64) uint64 {
		var a, b runtime.MemStats
		runtime.ReadMemStats(&a)
		require.NoError(t, Generate(io.Discard, Options{Packets: n, Proto: "mixed", Family: "mixed", Size: "60-3000", MTU: 1400, ICMP: 5, Order: "zipf"}))
		runtime.ReadMemStats(&b)
		return b.TotalAlloc - a.TotalAlloc
	}
	run(1000)
	require.InDelta(t, run(20_000), run(400_000), 512<<10)
}

func BenchmarkGenerate(b *testing.B) {
	for name, o := range map[string]Options{
		"udp":     {},
		"shuffle": {Flows: 1 << 20, Order: "shuffle"},
		"tcp":     {Proto: "tcp", Flows: 1 << 16, Order: "shuffle"},
		"imix":    {Size: "imix", Format: "pcapng", Family: "v6"},
	} {
		b.Run(name, func(b *testing.B) {
			const n = 1 << 20
			o.Packets = n
			for b.Loop() {
				if err := Generate(io.Discard, o); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds()/1e6, "Mpps")
		})
	}
}

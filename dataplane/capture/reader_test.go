package capture

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"edemux/dataplane/packet"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

func gz(t testing.TB, b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(b)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func zst(t testing.TB, b []byte) []byte {
	w, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	defer w.Close()
	return w.EncodeAll(b, nil)
}

func samplePcap(n int) []byte {
	e := (&enc{}).pcapHead(0xa1b2c3d4, 1)
	for i := range n {
		e.rec(uint32(i), 0, bytes.Repeat([]byte{byte(i)}, i%97))
	}
	return e.b
}

func sampleNG(n int) []byte {
	e := (&enc{}).shb().idb(1, 0)
	for i := range n {
		e.epb(0, uint64(i)*1e6, bytes.Repeat([]byte{byte(i)}, i%97))
	}
	return e.b
}

func TestPacked(t *testing.T) {
	for _, plain := range [][]byte{samplePcap(500), sampleNG(500)} {
		want := requireClean(t, plain)
		require.Len(t, want, 500)
		require.Equal(t, want, requireClean(t, gz(t, plain)))
		require.Equal(t, want, requireClean(t, zst(t, plain)))
		require.Equal(t, want, requireClean(t, append(gz(t, plain[:777]), gz(t, plain[777:])...)), "gzip members")
		require.Equal(t, want, requireClean(t, append(zst(t, plain[:777]), zst(t, plain[777:])...)), "zstd frames")
	}
}

// A packed capture cut anywhere gives a prefix of its frames and one warning,
// or is no capture when nothing can be unpacked.
func TestPackedDamage(t *testing.T) {
	plain := samplePcap(3000)
	want := requireClean(t, plain)
	for name, packed := range map[string][]byte{"gzip": gz(t, plain), "zstd": zst(t, plain)} {
		t.Run(name, func(t *testing.T) {
			for n := 4; n < len(packed); n += 1 + len(packed)/60 {
				r, err := NewReader(bytes.NewReader(packed[:n]), "cut", Options{})
				if err != nil {
					require.ErrorIs(t, err, ErrNotCapture)
					continue
				}
				fs := readAll(t, r)
				require.Equal(t, want[:len(fs)], fs)
				require.Len(t, r.Warnings(), 1, "cut at %d of %d", n, len(packed))
				require.Contains(t, r.Warnings()[0].What, name+" data damaged: ")
				r.Close()
			}
		})
		t.Run(name+" flipped", func(t *testing.T) {
			b := bytes.Clone(packed)
			b[len(b)/2] ^= 0x55
			b[len(b)-5] ^= 0x55
			r, err := NewReader(bytes.NewReader(b), "flipped", Options{})
			require.NoError(t, err)
			readAll(t, r)
			require.Len(t, r.Warnings(), 1)
		})
	}
}

func TestNotCapture(t *testing.T) {
	pcap, ng := samplePcap(1), sampleNG(1)
	badVersion := append(bytes.Clone(pcap[:4]), 9, 0, 4, 0)
	badVersion = append(badVersion, pcap[8:]...)
	ngVersion := bytes.Clone(ng)
	ngVersion[12] = 2
	ngOrder := bytes.Clone(ng)
	ngOrder[8] = 0
	for name, c := range map[string]struct {
		b     []byte
		magic []byte
		what  string
	}{
		"0 bytes":        {nil, []byte{}, "no capture (magic none, 0 bytes)"},
		"1 byte":         {[]byte{0xd4}, []byte{0xd4}, "no capture (magic 0xd4)"},
		"text":           {[]byte("hello, world"), []byte("hell"), "not a pcap or pcapng capture (magic 0x68656c6c)"},
		"pcap cut":       {pcap[:23], pcap[:4], "pcap file header cut after 23 of 24 bytes (magic 0xd4c3b2a1)"},
		"pcap version":   {badVersion, pcap[:4], "pcap version 9.4 is not supported"},
		"pcapng cut":     {ng[:27], ng[:4], "pcapng section header cut after 27 of 28 bytes (magic 0x0a0d0d0a)"},
		"pcapng version": {ngVersion, ng[:4], "pcapng version 2 is not supported"},
		"pcapng order":   {ngOrder, ng[:4], "without byte-order magic"},
		"gzip of none":   {gz(t, nil), []byte{0x1f, 0x8b, 8, 0}, "no capture in the gzip data (magic 0x1f8b0800)"},
		"gzip of text":   {gz(t, []byte("hello")), []byte("hell"), "not a pcap or pcapng capture"},
		"gzip cut":       {gz(t, pcap)[:5], []byte{0x1f, 0x8b, 8, 0}, "gzip: "},
		"zstd cut":       {zst(t, pcap)[:5], []byte{0x28, 0xb5, 0x2f, 0xfd}, "zstd data damaged: "},
		"gzip in gzip":   {gz(t, gz(t, pcap)), []byte{0x1f, 0x8b, 8, 0}, "not a pcap"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewReader(bytes.NewReader(c.b), "in.pcap", Options{})
			require.ErrorIs(t, err, ErrNotCapture)
			var fe *FormatError
			require.ErrorAs(t, err, &fe)
			require.Equal(t, "in.pcap", fe.Name)
			require.Equal(t, c.magic, append([]byte{}, fe.Magic...))
			require.Contains(t, err.Error(), c.what)
			require.True(t, strings.HasPrefix(err.Error(), "read capture: in.pcap: "), err.Error())
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.pcap")
	require.NoError(t, os.WriteFile(path, samplePcap(10), 0o600))
	r, err := Open(path, Options{Port: "eth0"})
	require.NoError(t, err)
	require.Equal(t, path, r.Name())
	require.Equal(t, "eth0", r.Port())
	require.Len(t, readAll(t, r), 10)
	require.NoError(t, r.Rewind())
	require.Len(t, readAll(t, r), 10)
	require.NoError(t, r.Close())
	require.ErrorIs(t, r.Next(&packet.Frame{}), fs.ErrClosed)

	_, err = Open(filepath.Join(dir, "none"), Options{})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Equal(t, 1, strings.Count(err.Error(), "none"), err.Error())
	_, err = Open(dir, Options{})
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrNotCapture)
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	_, err = Open(path, Options{})
	require.ErrorIs(t, err, ErrNotCapture)
}

func TestOpenStandardInput(t *testing.T) {
	rd, wr, err := os.Pipe()
	require.NoError(t, err)
	old := os.Stdin
	os.Stdin = rd
	defer func() { os.Stdin = old; rd.Close() }()
	go func() {
		wr.Write(sampleNG(200))
		wr.Close()
	}()
	r, err := Open("-", Options{})
	require.NoError(t, err)
	require.Len(t, readAll(t, r), 200)
	err = r.Rewind()
	require.EqualError(t, err, "rewind capture: standard input: cannot be read twice; save it to a file first")
	require.NoError(t, r.Close())
	_, err = rd.Stat()
	require.NoError(t, err, "the standard input is not ours to close")
}

func TestRewind(t *testing.T) {
	for name, b := range map[string][]byte{
		"pcap": samplePcap(300), "pcapng": sampleNG(300),
		"gzip": gz(t, samplePcap(300)), "zstd": zst(t, sampleNG(300)),
		"damaged": samplePcap(300)[:9000],
	} {
		t.Run(name, func(t *testing.T) {
			r := newReader(t, b)
			want := readAll(t, r)
			ifaces, warnings := len(r.Interfaces()), r.Warnings()
			for range 3 {
				require.NoError(t, r.Rewind())
				require.Zero(t, r.Frames())
				var f packet.Frame
				require.NoError(t, r.Next(&f), "rewinding halfway")
				require.NoError(t, r.Rewind())
				require.Equal(t, want, readAll(t, r))
				require.Len(t, r.Interfaces(), ifaces)
				require.Equal(t, warnings, r.Warnings(), "told once")
			}
		})
	}
	r, err := NewReader(onlyReader{bytes.NewReader(samplePcap(1))}, "socket", Options{})
	require.NoError(t, err)
	require.EqualError(t, r.Rewind(), "rewind capture: socket: cannot be read twice")

	rd, wr, err := os.Pipe()
	require.NoError(t, err)
	defer rd.Close()
	wr.Write(samplePcap(1))
	wr.Close()
	r, err = NewReader(rd, "fifo", Options{})
	require.NoError(t, err)
	require.ErrorContains(t, r.Rewind(), "rewind capture: fifo: cannot be read twice: ")
}

// However a source portions its bytes, the frames are the same.
func TestPortions(t *testing.T) {
	for _, b := range [][]byte{samplePcap(300), sampleNG(300), gz(t, samplePcap(300)), zst(t, sampleNG(300))} {
		want := requireClean(t, b)
		for _, wrap := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
			r, err := NewReader(wrap(bytes.NewReader(b)), "portions", Options{})
			require.NoError(t, err)
			require.Equal(t, want, readAll(t, r))
			require.Empty(t, r.Warnings())
		}
	}
}

// A failing source is an error, never a capture that merely ends.
func TestSourceFailure(t *testing.T) {
	boom := errors.New("input/output error")
	for name, b := range map[string][]byte{"pcap": samplePcap(3000), "gzip": gz(t, samplePcap(3000)), "zstd": zst(t, samplePcap(3000)), "pcapng": sampleNG(3000)} {
		t.Run(name, func(t *testing.T) {
			for n := 0; n < len(b); n += 1 + len(b)/40 {
				src := io.MultiReader(bytes.NewReader(b[:n]), iotest.ErrReader(boom))
				r, err := NewReader(src, "disk", Options{})
				for err == nil {
					var f packet.Frame
					err = r.Next(&f)
				}
				require.ErrorIs(t, err, boom, "after %d bytes", n)
				require.NotErrorIs(t, err, ErrNotCapture)
				require.EqualError(t, err, "read capture: disk: input/output error")
				if r != nil {
					require.Empty(t, r.Warnings())
					require.Equal(t, err, r.Next(&packet.Frame{}), "errors are final")
				}
			}
		})
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestSourceWithoutProgress(t *testing.T) {
	r, err := NewReader(io.MultiReader(bytes.NewReader(samplePcap(5)), stuck{}), "stuck", Options{})
	require.NoError(t, err)
	var f packet.Frame
	for range 5 {
		require.NoError(t, r.Next(&f))
	}
	require.ErrorIs(t, r.Next(&f), io.ErrNoProgress)
	require.Empty(t, r.Warnings())
}

// zstdFrame holds b in one raw block, under a header that asks for a window of
// 2^log bytes.
func zstdFrame(log byte, b []byte) []byte {
	n := uint32(len(b))<<3 | 1 // the last block, raw
	h := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3, byte(n), byte(n >> 8), byte(n >> 16)}
	return append(h, b...)
}

// A zstd frame may ask for as much memory as the zstd tool grants by default.
func TestZstdWindowIsBounded(t *testing.T) {
	plain := samplePcap(5)
	require.Len(t, requireClean(t, zstdFrame(20, plain)), 5)
	n := allocated(func() { require.Len(t, requireClean(t, zstdFrame(27, plain)), 5) })
	require.Less(t, n, uint64(maxWindow+8<<20))
	_, err := NewReader(bytes.NewReader(zstdFrame(28, plain)), "bomb", Options{})
	require.ErrorIs(t, err, ErrNotCapture)
	require.ErrorContains(t, err, "bomb: zstd data damaged: ")
}

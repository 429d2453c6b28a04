package capture

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow bounds what a zstd frame may ask for; it is the limit of the zstd
// tool without --long.
const maxWindow = 128 << 20

// maxEmptyReads is how often in a row a source may return nothing, not even an
// error, before that is one.
const maxEmptyReads = 100

// ErrNotCapture is what errors.Is finds in an input that is no capture.
var ErrNotCapture = errors.New("not a capture")

// FormatError says that an input is no capture, and what stands at its start.
type FormatError struct {
	Name  string // as given to Open or NewReader
	Magic []byte // the first bytes, at most four; empty when there are none
	What  string
}

func (e *FormatError) Error() string {
	magic := "none, 0 bytes"
	if len(e.Magic) > 0 {
		magic = fmt.Sprintf("0x%x", e.Magic)
	}
	return fmt.Sprintf("read capture: %s: %s (magic %s)", e.Name, e.What, magic)
}

// Is makes every FormatError an ErrNotCapture.
func (e *FormatError) Is(target error) bool { return target == ErrNotCapture }

// rawReader gives back the bytes that were looked at to find the packing, and
// remembers a failure of the source, which must not pass for damage of the
// packed data.
type rawReader struct {
	src   io.Reader
	head  [4]byte
	n, at int
	err   error // not io.EOF
}

func (r *rawReader) reset(src io.Reader) error {
	*r = rawReader{src: src}
	n, err := io.ReadFull(src, r.head[:])
	r.n = n
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		r.err = err
	}
	return r.err
}

func (r *rawReader) Read(p []byte) (int, error) {
	if r.at < r.n {
		n := copy(p, r.head[r.at:r.n])
		r.at += n
		return n, nil
	}
	for range maxEmptyReads {
		n, err := r.src.Read(p)
		if err != nil && err != io.EOF {
			r.err = err
		}
		if n != 0 || err != nil {
			return n, err
		}
	}
	r.err = io.ErrNoProgress
	return 0, r.err
}

// unpacker turns a source into the bytes of the capture. The decoders are kept
// for the next pass.
type unpacker struct {
	raw  rawReader
	buf  *bufio.Reader
	gz   *gzip.Reader
	zst  *zstd.Decoder
	kind string // "", "gzip" or "zstd"
}

// open looks at the magic of src and returns a reader of what is in it.
func (u *unpacker) open(src io.Reader) (io.Reader, error) {
	if err := u.raw.reset(src); err != nil {
		return nil, err
	}
	u.kind = ""
	h := u.raw.head[:u.raw.n]
	switch {
	case len(h) >= 2 && h[0] == 0x1f && h[1] == 0x8b:
		u.kind = "gzip"
		return u.openGzip()
	case len(h) == 4 && h[0] == 0x28 && h[1] == 0xb5 && h[2] == 0x2f && h[3] == 0xfd:
		u.kind = "zstd"
		return u.openZstd()
	}
	return &u.raw, nil
}

func (u *unpacker) buffered() *bufio.Reader {
	if u.buf == nil {
		u.buf = bufio.NewReaderSize(&u.raw, 64<<10)
	} else {
		u.buf.Reset(&u.raw)
	}
	return u.buf
}

func (u *unpacker) openGzip() (io.Reader, error) {
	b := u.buffered()
	if u.gz == nil {
		gz, err := gzip.NewReader(b)
		if err != nil {
			return nil, err
		}
		u.gz = gz
		return gz, nil
	}
	return u.gz, u.gz.Reset(b)
}

func (u *unpacker) openZstd() (io.Reader, error) {
	b := u.buffered()
	if u.zst == nil {
		// Concurrency 1 decodes inside Read, without goroutines.
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		u.zst = z
		return z, nil
	}
	return u.zst, u.zst.Reset(b)
}

func (u *unpacker) close() {
	if u.zst != nil {
		u.zst.Close()
		u.zst = nil
	}
}

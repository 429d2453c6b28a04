package capture

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"edemux/dataplane/packet"
)

// MaxRecord is the most captured bytes a frame can have; libpcap and Wireshark
// draw the line at the same place.
const MaxRecord = 262144

// linkNone stands for link types that do not fit 16 bits; no parser knows it.
const linkNone = 0xffff

// Options of a Reader. The zero value will do.
type Options struct {
	Port string // name of the port all frames belong to; empty: see PortNames
}

// Interface describes one interface of a capture.
type Interface struct {
	Name     string // if_name of pcapng, unchecked and cut at 255 bytes; else empty
	LinkType uint16 // LINKTYPE_*
	ID       int    // number within its pcapng section, from 0
}

// Warning is a flaw that left the frames before it usable.
type Warning struct {
	Frame  uint64 // number of the frame concerned, from 1; one past the last when the capture ends there
	Offset int64  // of the record concerned, in bytes from the start of the (unpacked) capture
	What   string
}

func (w Warning) String() string {
	return fmt.Sprintf("frame %d at byte %d: %s", w.Frame, w.Offset, w.What)
}

// Reader reads the frames of one capture. It belongs to one goroutine.
type Reader struct {
	name   string
	opts   Options
	file   *os.File  // to close; nil when the source is the caller's
	src    io.Reader // what unpacking starts from
	stdin  bool
	unpack unpacker
	s      stream

	format   uint8
	pcap     pcapFormat
	ng       section
	ifaces   []Interface
	seen     map[Interface]int
	several  bool // some section is known to have more than one interface
	iface    int  // index in ifaces of the current frame's interface
	frames   uint64
	start    int64 // offset of the current record
	last     int64 // time of the previous frame, for those without
	done     error // what Next returns for ever
	warnings []Warning
	links    []uint16 // unknown link types that have been told
}

const (
	formatPcap = iota + 1
	formatNG
)

// Open opens the capture at path; "-" is the standard input. The error is a
// FormatError when there is no capture in it.
func Open(path string, o Options) (*Reader, error) {
	if path == "-" {
		return open(&Reader{name: "standard input", src: os.Stdin, stdin: true, opts: o})
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, readError(path, err)
	}
	r, err := open(&Reader{name: path, src: f, file: f, opts: o})
	if err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

// NewReader reads a capture from src, which stays the caller's to close. name
// is for messages. Rewind works when src is an io.Seeker.
func NewReader(src io.Reader, name string, o Options) (*Reader, error) {
	return open(&Reader{name: name, src: src, opts: o})
}

func open(r *Reader) (*Reader, error) {
	r.seen = make(map[Interface]int)
	if err := r.begin(); err != nil {
		r.unpack.close()
		return nil, err
	}
	return r, nil
}

// readError drops the operation and path of a PathError, which would repeat
// the name.
func readError(name string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("read capture: %s: %w", name, err)
}

// begin reads up to the first record.
func (r *Reader) begin() error {
	src, err := r.unpack.open(r.src)
	if r.unpack.raw.err != nil {
		return readError(r.name, r.unpack.raw.err)
	}
	if err != nil {
		raw := &r.unpack.raw
		return &FormatError{r.name, raw.head[:raw.n], r.unpack.kind + ": " + err.Error()}
	}
	r.s.reset(src)
	r.frames, r.start, r.last, r.done, r.iface = 0, 0, 0, nil, 0
	if !r.s.need(4) {
		return r.notCapture("no capture")
	}
	magic := [4]byte(r.s.buf[:4])
	if p, ok := pcapMagic(magic); ok {
		r.format = formatPcap
		return r.beginPcap(p)
	}
	if magic == [4]byte{0x0a, 0x0d, 0x0d, 0x0a} {
		r.format = formatNG
		return r.beginNG()
	}
	return r.notCapture("not a pcap or pcapng capture")
}

// notCapture is the error for an input whose beginning is none of a capture.
// The window still holds the beginning.
func (r *Reader) notCapture(what string) error {
	if err := r.unpack.raw.err; err != nil {
		return readError(r.name, err)
	}
	if err := r.s.err; err != nil && err != io.EOF {
		what = r.unpackError(err)
	}
	head := r.s.buf[:min(4, r.s.w)]
	if len(head) == 0 && r.unpack.kind != "" {
		what += " in the " + r.unpack.kind + " data"
		head = r.unpack.raw.head[:r.unpack.raw.n]
	}
	return &FormatError{r.name, append([]byte(nil), head...), what}
}

func (r *Reader) unpackError(err error) string {
	if r.unpack.kind == "" {
		return err.Error()
	}
	return r.unpack.kind + " data damaged: " + err.Error()
}

// Next reads the next frame into f, all fields but Port. f.Data is valid until
// the next call. It returns io.EOF at the end, also at one that Warnings
// explains, and any other error only when the source fails. Errors are final.
func (r *Reader) Next(f *packet.Frame) error {
	if r.done != nil {
		return r.done
	}
	if r.format == formatPcap {
		return r.nextPcap(f)
	}
	return r.nextNG(f)
}

// stop ends reading: the bytes that the current record needs are not there.
func (r *Reader) stop(what string) error {
	if err := r.unpack.raw.err; err != nil {
		r.done = readError(r.name, err)
		return r.done
	}
	if err := r.s.err; err != nil && err != io.EOF {
		what = r.unpackError(err)
	}
	return r.damage(what)
}

// damage ends reading because of what the current record says. An empty what
// is a proper end.
func (r *Reader) damage(what string) error {
	r.done = io.EOF
	if what != "" {
		r.warn(r.frames+1, what)
	}
	return r.done
}

// warn records a warning, once: a rewound reader comes to the same flaws.
func (r *Reader) warn(frame uint64, what string) {
	w := Warning{frame, r.start, what}
	if !slices.Contains(r.warnings, w) {
		r.warnings = append(r.warnings, w)
	}
}

// maxLinkWarnings bounds the warnings of a capture made to hold every type.
const maxLinkWarnings = 16

// warnLink tells once that frames of a link type cannot be parsed.
func (r *Reader) warnLink(link uint16) {
	if slices.Contains(r.links, link) || len(r.links) == maxLinkWarnings {
		return
	}
	r.links = append(r.links, link)
	r.warn(r.frames, fmt.Sprintf("link type %d is not supported; its frames are counted but not parsed", link))
}

func knownLink(link uint16) bool {
	switch link {
	case packet.LinkNull, packet.LinkEthernet, packet.LinkRawBSD, packet.LinkRawOBSD, packet.LinkRaw,
		packet.LinkLoop, packet.LinkSLL, packet.LinkIPv4, packet.LinkIPv6, packet.LinkSLL2:
		return true
	}
	return false
}

// Name is the name given to Open or NewReader.
func (r *Reader) Name() string { return r.name }

// Port is the port name given in Options.
func (r *Reader) Port() string { return r.opts.Port }

// Frames is the number of frames read in this pass.
func (r *Reader) Frames() uint64 { return r.frames }

// Interface is the index in Interfaces of the interface that the last frame
// came from.
func (r *Reader) Interface() int { return r.iface }

// Interfaces are the interfaces known so far; with pcapng the list grows while
// reading. An interface that a later section describes in the same words is the
// same entry. The slice belongs to the reader.
func (r *Reader) Interfaces() []Interface { return r.ifaces }

// Several reports whether the capture is known to hold frames of more than one
// interface. A reader knows of those described in the first 128 KiB from the
// start, of others once it has come to them.
func (r *Reader) Several() bool { return r.several }

// Warnings are the flaws found so far, in file order. The slice belongs to the
// reader.
func (r *Reader) Warnings() []Warning { return r.warnings }

// Rewind starts again at the first frame. Interfaces and warnings are kept. The
// standard input, pipes and readers that cannot seek are an error.
func (r *Reader) Rewind() error {
	if r.stdin {
		return fmt.Errorf("rewind capture: %s: cannot be read twice; save it to a file first", r.name)
	}
	sk, ok := r.src.(io.Seeker)
	if !ok {
		return fmt.Errorf("rewind capture: %s: cannot be read twice", r.name)
	}
	if _, err := sk.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("rewind capture: %s: cannot be read twice: %w", r.name, err)
	}
	return r.begin()
}

// Close releases the file and the decoders. The reader cannot be used after.
func (r *Reader) Close() error {
	r.done = fs.ErrClosed
	r.unpack.close()
	if r.file != nil {
		return r.file.Close()
	}
	return nil
}

package shell

import (
	"bytes"
	"io"
)

const ctrlC = 3

// keys reads a terminal in raw mode for term.Terminal, which knows xterm's
// cursor keys only: those of other terminals are translated. It takes control
// characters out of what is pasted and stops at each Ctrl-C, so that its reader
// can tell an interrupt from the end of input. One reader.
type keys struct {
	in      io.Reader
	raw     []byte // read, not yet translated: a partial sequence or what follows Ctrl-C
	err     error
	pasting bool
	// interrupted: the bytes returned last were a Ctrl-C.
	interrupted bool
	buf         [256]byte
}

// sequences that term.Terminal does not know, and what it calls them.
var sequences = []struct{ from, to string }{
	{"\x1bOA", "\x1b[A"}, {"\x1bOB", "\x1b[B"}, {"\x1bOC", "\x1b[C"}, {"\x1bOD", "\x1b[D"},
	{"\x1bOH", "\x1b[H"}, {"\x1b[1~", "\x1b[H"}, {"\x1b[7~", "\x1b[H"},
	{"\x1bOF", "\x1b[F"}, {"\x1b[4~", "\x1b[F"}, {"\x1b[8~", "\x1b[F"},
	{"\x1b[1;5C", "\x1b[1;3C"}, {"\x1b[1;5D", "\x1b[1;3D"},
	{"\x1bf", "\x1b[1;3C"}, {"\x1bb", "\x1b[1;3D"},
	{"\x1b\x7f", "\x17"}, // Alt-Backspace: Ctrl-W
}

const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// Read returns translated keys.
func (k *keys) Read(p []byte) (int, error) {
	k.interrupted = false
	for {
		if out := k.translate(len(p)); len(out) > 0 {
			return copy(p, out), nil
		}
		if k.err != nil {
			return 0, k.err
		}
		var n int
		n, k.err = k.in.Read(k.buf[:])
		k.raw = append(k.raw, k.buf[:n]...)
	}
}

// translate takes what is complete off raw, at most limit bytes of result.
func (k *keys) translate(limit int) (out []byte) {
	for len(k.raw) > 0 && len(out)+8 <= limit {
		switch c := k.raw[0]; {
		case c == ctrlC && !k.pasting:
			if len(out) == 0 {
				k.interrupted = true
				k.raw = k.raw[:0] // what was typed ahead goes with the line
				out = append(out, c)
			}
			return out
		case c == 0x1b:
			from, to, whole := k.sequence()
			if !whole {
				return out
			}
			k.raw = k.raw[len(from):]
			if from == pasteStart || from == pasteEnd {
				k.pasting = from == pasteStart
			} else if k.pasting {
				continue
			}
			out = append(out, to...)
			continue
		case k.pasting && c == '\t':
			out = append(out, ' ')
		case k.pasting && (c < ' ' || c == 0x7f) && c != '\r' && c != '\n':
		default:
			out = append(out, c)
		}
		k.raw = k.raw[1:]
	}
	return out
}

// sequence is the escape sequence that raw begins with and its translation.
// whole is false when more bytes may belong to it.
func (k *keys) sequence() (from, to string, whole bool) {
	for _, s := range sequences {
		if bytes.HasPrefix(k.raw, []byte(s.from)) {
			return s.from, s.to, true
		}
	}
	switch {
	case len(k.raw) == 1:
		return "", "", false
	case k.raw[1] != '[' && k.raw[1] != 'O': // Escape, then a key of its own
		return "\x1b", "", true
	}
	for i, c := range k.raw[2:] {
		if c >= 0x40 && c <= 0x7e {
			s := string(k.raw[:3+i])
			return s, s, true
		}
		if i > 16 {
			break
		}
	}
	if len(k.raw) > 16 {
		return string(k.raw[:2]), "", true
	}
	return "", "", false
}

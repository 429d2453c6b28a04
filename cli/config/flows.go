package config

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
)

// Flow is one line of a flows file: a connected socket.
type Flow struct {
	Laddr, Faddr netip.Addr // of one family; v4-mapped stays so
	Lport, Fport uint16     // host order
	Pool         string
	Index        int // worker of the pool
	VRF          string
	Line         int
}

// maxFlowLine bounds a line of a flows file, bytes.
const maxFlowLine = 1024

// FlowReader reads a flows file line by line: laddr lport faddr fport worker
// [vrf], separated by tabs; empty lines and lines that begin with # are
// skipped. Memory does not grow with the file.
type FlowReader struct {
	file  string
	r     *bufio.Reader
	line  int
	names map[string]string // interned pool and VRF names
}

// NewFlowReader reads r; file is its name in errors.
func NewFlowReader(file string, r io.Reader) *FlowReader {
	return &FlowReader{file: file, r: bufio.NewReaderSize(r, 1<<16), names: map[string]string{}}
}

// Next returns the next flow, io.EOF at the end, else an *Error at the line.
func (f *FlowReader) Next() (Flow, error) {
	for {
		line, err := f.read()
		if err != nil {
			return Flow{}, err
		}
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		return f.parse(line)
	}
}

// read returns the next line without its end.
func (f *FlowReader) read() ([]byte, error) {
	line, err := f.r.ReadSlice('\n')
	if err == io.EOF && len(line) == 0 {
		return nil, io.EOF
	}
	f.line++
	if err == bufio.ErrBufferFull || len(line) > maxFlowLine {
		return nil, f.bad(Pos{Line: f.line, Col: 1}, fmt.Sprintf("line of more than %d bytes", maxFlowLine), flowForm)
	}
	if err != nil && err != io.EOF {
		return nil, f.bad(Pos{}, err.Error(), "")
	}
	line = bytes.TrimSuffix(line, []byte{'\n'})
	return bytes.TrimSuffix(line, []byte{'\r'}), nil
}

const flowForm = "write laddr, lport, faddr, fport, worker and perhaps a VRF, separated by tabs"

func (f *FlowReader) bad(p Pos, what, instead string) error {
	return &Error{Problems: []Problem{{File: f.file, Pos: p, What: what, Instead: instead}}}
}

func (f *FlowReader) parse(line []byte) (Flow, error) {
	var field [6][]byte
	var col [6]int
	n, at := 0, 0
	for rest := line; ; n++ {
		if n == len(field) {
			return Flow{}, f.bad(Pos{Line: f.line, Col: at + 1, Text: string(rest)}, "a seventh column", flowForm)
		}
		part, tail, more := bytes.Cut(rest, []byte{'\t'})
		field[n], col[n] = part, at+1
		at += len(part) + 1
		if rest = tail; !more {
			n++
			break
		}
	}
	if n < 5 {
		return Flow{}, f.bad(Pos{Line: f.line, Col: 1, Text: string(line)}, fmt.Sprintf("%d columns", n), flowForm)
	}
	out := Flow{Line: f.line, VRF: "default"}
	for i := range n {
		if bad := f.column(&out, i, field[i]); bad != nil {
			return Flow{}, f.bad(Pos{Line: f.line, Col: col[i], Text: string(field[i])}, bad.what, bad.instead)
		}
	}
	if out.Laddr.Is4() != out.Faddr.Is4() || out.Laddr.Is4In6() != out.Faddr.Is4In6() {
		return Flow{}, f.bad(Pos{Line: f.line, Col: col[2], Text: string(field[2])}, "addresses of two families", "write both in the family of "+out.Laddr.String())
	}
	return out, nil
}

// column reads field i into out.
func (f *FlowReader) column(out *Flow, i int, s []byte) (bad *fault) {
	switch i {
	case 0:
		out.Laddr, bad = flowAddr(s)
	case 1:
		out.Lport, bad = flowPort(s)
	case 2:
		out.Faddr, bad = flowAddr(s)
	case 3:
		out.Fport, bad = flowPort(s)
	case 4:
		slash := bytes.IndexByte(s, '/')
		if slash < 0 {
			return &fault{"not a worker", "write POOL/INDEX, as web/0"}
		}
		n, err := strconv.Atoi(string(s[slash+1:]))
		if out.Pool, bad = f.intern(s[:slash]); bad == nil && (err != nil || n < 0) {
			bad = &fault{"not a worker", "write POOL/INDEX, as web/0"}
		}
		out.Index = n
	case 5:
		out.VRF, bad = f.intern(s)
	}
	return bad
}

// intern returns s as a name without an allocation per line.
func (f *FlowReader) intern(s []byte) (string, *fault) {
	if n, ok := f.names[string(s)]; ok {
		return n, nil
	}
	n := string(s)
	if !validName(n) {
		return "", &fault{"not a name", nameRule}
	}
	if len(f.names) < 1<<16 {
		f.names[n] = n
	}
	return n, nil
}

func flowAddr(s []byte) (netip.Addr, *fault) {
	a, f := parseAddr(string(s))
	switch {
	case f != nil:
		return a, f
	case a.Unmap().IsUnspecified():
		return a, &fault{"the wildcard address", "write the address of a host"}
	}
	return a, nil
}

func flowPort(s []byte) (uint16, *fault) {
	n, f := portNumber(string(s))
	if f == nil && n == 0 {
		f = &fault{"port 0", "write a port from 1 to 65535"}
	}
	return n, f
}

// EachFlow opens the flows file of c, if there is one, and calls each for every
// line after checking its worker and VRF. worker is the global index of the
// worker (pools in order). The error is an *Error with the line; one that each
// returns is placed at the line.
func (c *Config) EachFlow(each func(f Flow, worker uint32) error) error {
	if c.Flows.UDP == "" {
		return nil
	}
	file, err := os.Open(c.Path(c.Flows.UDP))
	if err != nil {
		return c.Errorf(c.Flows.At("udp"), "name a file that can be read", "%s", openReason(err))
	}
	defer file.Close()
	return c.eachFlow(NewFlowReader(c.Flows.UDP, file), each)
}

func (c *Config) eachFlow(r *FlowReader, each func(f Flow, worker uint32) error) error {
	for {
		f, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		at := Pos{Line: f.Line, Col: 1}
		p := c.Pool(f.Pool)
		switch {
		case p == nil:
			at.Text = f.Pool
			return r.bad(at, "no such worker pool", "name a pool of the configuration")
		case f.Index >= p.Count:
			at.Text = fmt.Sprintf("%s/%d", f.Pool, f.Index)
			return r.bad(at, fmt.Sprintf("pool %s has %d workers", p.Name, p.Count), fmt.Sprintf("write %s/0 to %s/%d", p.Name, p.Name, p.Count-1))
		case c.VRF(f.VRF) == nil:
			at.Text = f.VRF
			return r.bad(at, "no such VRF", "name a VRF of the configuration")
		}
		if err := each(f, c.WorkerBase(f.Pool)+uint32(f.Index)); err != nil {
			var e *Error
			if errors.As(err, &e) {
				return err
			}
			return r.bad(at, err.Error(), "")
		}
	}
}

// WorkerBase is the global index of the first worker of a pool: workers are
// numbered through all pools in the order of the file.
func (c *Config) WorkerBase(pool string) uint32 {
	var n uint32
	for i := range c.Workers {
		if c.Workers[i].Name == pool {
			return n
		}
		n += uint32(c.Workers[i].Count)
	}
	return n
}

// WorkerNames lists POOL/INDEX by global index.
func (c *Config) WorkerNames() []string {
	var out []string
	for i := range c.Workers {
		for j := range c.Workers[i].Count {
			out = append(out, fmt.Sprintf("%s/%d", c.Workers[i].Name, j))
		}
	}
	return out
}

// openReason is the reason of a failed open without the path.
func openReason(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

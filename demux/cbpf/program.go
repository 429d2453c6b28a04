package cbpf

import (
	"fmt"
	"strconv"
	"strings"
)

// Instr is one instruction in the form of the kernel's struct sock_filter.
type Instr struct {
	Code   uint16
	Jt, Jf uint8
	K      uint32
}

// MaxInstrs is BPF_MAXINSNS.
const MaxInstrs = 4096

// Program is a checked and compiled program.
type Program struct {
	raw  []Instr
	code []op
	mem  bool // uses the scratch memory
	fast quick
}

// Instructions returns the program as the kernel would take it.
func (p *Program) Instructions() []Instr { return append([]Instr(nil), p.raw...) }

// Error says which instruction is refused and why. Instructions count from 1.
type Error struct {
	Instr  int
	Reason string
}

// Error is one line.
func (e *Error) Error() string { return fmt.Sprintf("instruction %d: %s", e.Instr, e.Reason) }

// New checks and compiles instructions.
func New(code []Instr) (*Program, error) {
	if err := check(code); err != nil {
		return nil, err
	}
	return compile(append([]Instr(nil), code...)), nil
}

// Load reads a program in either form: bpf_asm text, or the numbers of
// `tcpdump -ddd` (a first line with the count, then code, jt, jf and k).
func Load(text string) (*Program, error) {
	if t := strings.TrimSpace(text); t != "" && strings.Trim(t, "0123456789 \t\r\n,") == "" {
		return Parse(text)
	}
	return Assemble(text)
}

// Parse reads the numbers of `tcpdump -ddd`; commas may stand for newlines.
func Parse(text string) (*Program, error) {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == ',' })
	lines = compact(lines)
	if len(lines) == 0 {
		return nil, fmt.Errorf("empty program")
	}
	n, err := strconv.Atoi(lines[0])
	if err != nil {
		return nil, fmt.Errorf("first line %q is not the number of instructions", lines[0])
	}
	if n != len(lines)-1 {
		return nil, fmt.Errorf("%d instructions announced, %d given", n, len(lines)-1)
	}
	code := make([]Instr, n)
	for i, l := range lines[1:] {
		if err := code[i].scan(l); err != nil {
			return nil, &Error{i + 1, err.Error()}
		}
	}
	return New(code)
}

// compact trims lines and drops empty ones.
func compact(lines []string) []string {
	out := lines[:0]
	for _, l := range lines {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// scan reads "code jt jf k".
func (in *Instr) scan(l string) error {
	f := strings.Fields(l)
	if len(f) != 4 {
		return fmt.Errorf("%q: four numbers are needed: code jt jf k", l)
	}
	var v [4]uint64
	for i, bits := range [4]int{16, 8, 8, 32} {
		n, err := strconv.ParseUint(f[i], 10, bits)
		if err != nil {
			return fmt.Errorf("%q is not a number of %d bits", f[i], bits)
		}
		v[i] = n
	}
	*in = Instr{uint16(v[0]), uint8(v[1]), uint8(v[2]), uint32(v[3])}
	return nil
}

// String is the form of `tcpdump -ddd`.
func (p *Program) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d\n", len(p.raw))
	for _, i := range p.raw {
		fmt.Fprintf(&s, "%d %d %d %d\n", i.Code, i.Jt, i.Jf, i.K)
	}
	return s.String()
}

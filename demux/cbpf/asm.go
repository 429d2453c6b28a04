package cbpf

import (
	"fmt"
	"strconv"
	"strings"
)

// Assemble turns bpf_asm text into a program: one instruction per line or
// between semicolons, labels `name:`, comments `/* */` and `//`. Numbers are
// decimal, 0x hexadecimal, 0b binary or 0 octal, and may be negative.
//
//	ld [0]; mod #4; ret a
func Assemble(text string) (*Program, error) {
	a := assembler{labels: map[string]int{}}
	text, err := stripComments(text)
	if err != nil {
		return nil, err
	}
	for _, l := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == ';' }) {
		if err := a.line(l); err != nil {
			return nil, &Error{len(a.code) + 1, err.Error()}
		}
	}
	if err := a.link(); err != nil {
		return nil, err
	}
	return New(a.code)
}

func stripComments(s string) (string, error) {
	for {
		i := strings.Index(s, "/*")
		if i < 0 {
			break
		}
		n := strings.Index(s[i+2:], "*/")
		if n < 0 {
			return "", fmt.Errorf("comment without end")
		}
		s = s[:i] + strings.Repeat("\n", strings.Count(s[i:i+2+n], "\n")) + " " + s[i+2+n+2:]
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i], _, _ = strings.Cut(l, "//")
	}
	return strings.Join(lines, "\n"), nil
}

// assembler holds what is assembled so far.
type assembler struct {
	code   []Instr
	labels map[string]int
	jumps  []jumpRef
}

// jumpRef is a jump whose labels are not resolved yet; "" is the next
// instruction.
type jumpRef struct {
	pc     int
	jt, jf string
}

// line takes one instruction with any labels before it.
func (a *assembler) line(l string) error {
	l = strings.TrimSpace(l)
	for {
		name, rest, ok := strings.Cut(l, ":")
		if !ok {
			break
		}
		if name = strings.TrimSpace(name); !isName(name) {
			return fmt.Errorf("%q is not a label", name)
		}
		if _, dup := a.labels[name]; dup {
			return fmt.Errorf("label %s stands twice", name)
		}
		a.labels[name] = len(a.code)
		l = strings.TrimSpace(rest)
	}
	if l == "" {
		return nil
	}
	op, arg := l, ""
	if i := strings.IndexAny(l, " \t"); i >= 0 {
		op, arg = l[:i], strings.TrimSpace(l[i:])
	}
	return a.instr(strings.ToLower(op), arg)
}

func isName(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

func (a *assembler) emit(code uint16, k uint32) { a.code = append(a.code, Instr{Code: code, K: k}) }

// instr assembles one instruction.
func (a *assembler) instr(op, arg string) error {
	if c, ok := alus[op]; ok {
		return a.alu(op, c, arg)
	}
	if j, ok := jumps[op]; ok {
		return a.jump(op, j, arg)
	}
	switch op {
	case "ld", "ldh", "ldb":
		return a.load(op, arg)
	case "ldi":
		return a.immediate(clsLD, arg)
	case "ldx", "ldxb":
		return a.loadX(op, arg)
	case "ldxi":
		return a.immediate(clsLDX, arg)
	case "st", "stx":
		k, ok := memory(arg)
		if !ok {
			return fmt.Errorf("%s %s: M[k] is needed", op, arg)
		}
		a.emit(map[string]uint16{"st": clsST, "stx": clsSTX}[op], k)
		return nil
	case "tax", "txa":
		if arg != "" {
			return fmt.Errorf("%s takes no operand", op)
		}
		a.emit(map[string]uint16{"tax": clsMISC | miscTAX, "txa": clsMISC | miscTXA}[op], 0)
		return nil
	case "ret":
		return a.ret(arg)
	}
	return fmt.Errorf("%q is not an instruction", op)
}

func (a *assembler) ret(arg string) error {
	if r := register(arg); r == 'a' {
		a.emit(clsRET|retA, 0)
		return nil
	} else if r == 'x' {
		return fmt.Errorf("ret x: only a constant or the accumulator can be returned")
	}
	k, ok := constant(arg)
	if !ok {
		return fmt.Errorf("ret %s: #k or a is needed", arg)
	}
	a.emit(clsRET|srcK, k)
	return nil
}

func (a *assembler) immediate(cls uint16, arg string) error {
	k, ok := constant(arg)
	if !ok {
		if k, ok = number32(arg); !ok {
			return fmt.Errorf("%q is not a constant #k", arg)
		}
	}
	a.emit(cls|modeIMM, k)
	return nil
}

// alus are the arithmetic instructions.
var alus = map[string]uint16{
	"add": aluAdd, "sub": aluSub, "mul": aluMul, "div": aluDiv, "mod": aluMod, "neg": aluNeg,
	"and": aluAnd, "or": aluOr, "xor": aluXor, "lsh": aluLsh, "rsh": aluRsh,
}

func (a *assembler) alu(op string, c uint16, arg string) error {
	if op == "neg" {
		if arg != "" {
			return fmt.Errorf("neg takes no operand")
		}
		a.emit(clsALU|c, 0)
		return nil
	}
	if register(arg) == 'x' {
		a.emit(clsALU|c|srcX, 0)
		return nil
	}
	k, ok := constant(arg)
	if !ok {
		return fmt.Errorf("%s %s: #k or x is needed", op, arg)
	}
	a.emit(clsALU|c, k)
	return nil
}

// register returns 'a' or 'x' for the names of the registers, else 0.
func register(s string) byte {
	switch strings.ToLower(s) {
	case "a", "%a":
		return 'a'
	case "x", "%x":
		return 'x'
	}
	return 0
}

// constant reads #k.
func constant(s string) (uint32, bool) {
	if !strings.HasPrefix(s, "#") {
		return 0, false
	}
	return number32(strings.TrimSpace(s[1:]))
}

// number32 reads a number of 32 bits, signed or unsigned.
func number32(s string) (uint32, bool) {
	if strings.Contains(s, "_") {
		return 0, false
	}
	if n, err := strconv.ParseUint(s, 0, 32); err == nil {
		return uint32(n), true
	}
	n, err := strconv.ParseInt(s, 0, 32)
	return uint32(n), err == nil
}

package cbpf

import (
	"fmt"
	"strings"
)

// jumpKind is a conditional jump; swap exchanges its targets (jlt is jge with
// the targets exchanged).
type jumpKind struct {
	op   uint16
	swap bool
}

var jumps = map[string]jumpKind{
	"jmp": {jmpJA, false}, "ja": {jmpJA, false},
	"jeq": {jmpJEQ, false}, "jneq": {jmpJEQ, true}, "jne": {jmpJEQ, true},
	"jgt": {jmpJGT, false}, "jle": {jmpJGT, true},
	"jge": {jmpJGE, false}, "jlt": {jmpJGE, true},
	"jset": {jmpJSET, false},
}

// jump assembles `jeq #k, Lt, Lf`, `jeq #k, Lt`, the same with x, and `jmp L`.
func (a *assembler) jump(op string, j jumpKind, arg string) error {
	f := strings.Split(arg, ",")
	for i := range f {
		f[i] = strings.TrimSpace(f[i])
	}
	if j.op == jmpJA {
		if len(f) != 1 || !isName(f[0]) {
			return fmt.Errorf("%s %s: a label is needed", op, arg)
		}
		a.jumps = append(a.jumps, jumpRef{len(a.code), f[0], ""})
		a.emit(clsJMP|jmpJA, 0)
		return nil
	}
	var src uint16
	k, ok := constant(f[0])
	if register(f[0]) == 'x' {
		src, ok = srcX, true
	}
	if !ok {
		return fmt.Errorf("%s %s: #k or x is needed first", op, arg)
	}
	if len(f) < 2 || len(f) > 3 {
		return fmt.Errorf("%s %s: one or two labels are needed", op, arg)
	}
	for _, l := range f[1:] {
		if !isName(l) {
			return fmt.Errorf("%s %s: %q is not a label", op, arg, l)
		}
	}
	ref := jumpRef{len(a.code), f[1], ""}
	if len(f) == 3 {
		ref.jf = f[2]
	}
	if j.swap {
		ref.jt, ref.jf = ref.jf, ref.jt
	}
	a.jumps = append(a.jumps, ref)
	a.emit(clsJMP|j.op|src, k)
	return nil
}

// link resolves the labels.
func (a *assembler) link() error {
	for _, j := range a.jumps {
		in := &a.code[j.pc]
		far := in.Code == clsJMP|jmpJA
		jt, err := a.distance(j.pc, j.jt, far)
		if err != nil {
			return err
		}
		if far {
			in.K = uint32(jt)
			continue
		}
		jf, err := a.distance(j.pc, j.jf, false)
		if err != nil {
			return err
		}
		in.Jt, in.Jf = uint8(jt), uint8(jf)
	}
	return nil
}

// distance is how many instructions a jump skips.
func (a *assembler) distance(pc int, label string, far bool) (int, error) {
	if label == "" {
		return 0, nil
	}
	to, ok := a.labels[label]
	if !ok {
		return 0, &Error{pc + 1, fmt.Sprintf("no label %s", label)}
	}
	n := to - pc - 1
	switch {
	case n < 0:
		return 0, &Error{pc + 1, fmt.Sprintf("label %s lies behind: jumps go forward only", label)}
	case n > 255 && !far:
		return 0, &Error{pc + 1, fmt.Sprintf("label %s is %d instructions away, a conditional jump reaches 255", label, n)}
	}
	return n, nil
}

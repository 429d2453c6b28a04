package cbpf

import (
	"fmt"
	"strings"
)

// load assembles ld, ldh and ldb.
func (a *assembler) load(op, arg string) error {
	size := map[string]uint16{"ld": szW, "ldh": szH, "ldb": szB}[op]
	if mode, k, ok := bracket(arg); ok {
		a.emit(clsLD|size|mode, k)
		return nil
	}
	name := strings.ToLower(strings.TrimSpace(strings.TrimPrefix(arg, "#")))
	if x, ok := ancillaries[name]; ok {
		if x.op == 0 {
			return fmt.Errorf("%s %s: %s", op, name, x.refuse)
		}
		a.emit(clsLD|size|modeABS, adOff+x.off)
		return nil
	}
	if op != "ld" {
		return fmt.Errorf("%s %s: [k] or [x + k] is needed", op, arg)
	}
	if name == "len" || name == "pktlen" {
		a.emit(clsLD|modeLEN, 0)
		return nil
	}
	if k, ok := memory(arg); ok {
		a.emit(clsLD|modeMEM, k)
		return nil
	}
	if k, ok := constant(arg); ok {
		a.emit(clsLD|modeIMM, k)
		return nil
	}
	return fmt.Errorf("ld %s: [k], [x + k], M[k], #k or an extension such as #cpu is needed", arg)
}

// loadX assembles ldx and ldxb.
func (a *assembler) loadX(op, arg string) error {
	if k, ok := nibble(arg); ok {
		a.emit(clsLDX|szB|modeMSH, k)
		return nil
	}
	if op == "ldx" {
		name := strings.ToLower(strings.TrimSpace(strings.TrimPrefix(arg, "#")))
		if name == "len" || name == "pktlen" {
			a.emit(clsLDX|modeLEN, 0)
			return nil
		}
		if k, ok := memory(arg); ok {
			a.emit(clsLDX|modeMEM, k)
			return nil
		}
		if k, ok := constant(arg); ok {
			a.emit(clsLDX|modeIMM, k)
			return nil
		}
		return fmt.Errorf("ldx %s: M[k], #k, #len or 4*([k]&0xf) is needed", arg)
	}
	return fmt.Errorf("ldxb %s: 4*([k]&0xf) is needed", arg)
}

// bracket reads [k] or [x + k].
func bracket(s string) (mode uint16, k uint32, ok bool) {
	if !strings.HasPrefix(s, "[") || !strings.HasSuffix(s, "]") {
		return 0, 0, false
	}
	in := strings.TrimSpace(s[1 : len(s)-1])
	if l := strings.ToLower(in); strings.HasPrefix(l, "x") || strings.HasPrefix(l, "%x") {
		rest := strings.TrimSpace(in[strings.IndexAny(l, "x")+1:])
		switch {
		case rest == "":
			return modeIND, 0, true
		case rest[0] == '+':
			k, ok = number32(strings.TrimSpace(rest[1:]))
		case rest[0] == '-':
			k, ok = number32(strings.TrimSpace(rest[1:]))
			k = -k
		}
		return modeIND, k, ok
	}
	k, ok = number32(in)
	return modeABS, k, ok
}

// memory reads M[k].
func memory(s string) (uint32, bool) {
	if len(s) < 2 || s[0] != 'M' && s[0] != 'm' {
		return 0, false
	}
	mode, k, ok := bracket(strings.TrimSpace(s[1:]))
	return k, ok && mode == modeABS
}

// nibble reads 4*([k]&0xf).
func nibble(s string) (uint32, bool) {
	s = strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(s, " ", ""), "\t", ""))
	in, ok := strings.CutPrefix(s, "4*(")
	if !ok {
		return 0, false
	}
	for _, end := range []string{"&0xf)", "&15)", "&0x0f)"} {
		if b, ok := strings.CutSuffix(in, end); ok {
			mode, k, ok := bracket(b)
			return k, ok && mode == modeABS
		}
	}
	return 0, false
}

package cbpf

import "fmt"

// check is bpf_check_classic with check_load_and_stores: every jump lands
// inside, the last instruction returns, no scratch word is read before it was
// written on every path, no constant divides by zero.
func check(code []Instr) error {
	switch {
	case len(code) == 0:
		return fmt.Errorf("empty program")
	case len(code) > MaxInstrs:
		return fmt.Errorf("%d instructions, at most %d", len(code), MaxInstrs)
	}
	for pc := range code {
		if why := checkInstr(code, pc); why != "" {
			return &Error{pc + 1, why}
		}
	}
	if last := code[len(code)-1].Code; last != clsRET|srcK && last != clsRET|retA {
		return &Error{len(code), "the last instruction does not return"}
	}
	return checkMem(code)
}

// checkInstr returns why instruction pc is refused, "" when it is not.
func checkInstr(code []Instr, pc int) string {
	in := &code[pc]
	if !allowed(in.Code) {
		return fmt.Sprintf("code %#x is not an instruction of classic BPF sockets filters", in.Code)
	}
	switch in.Code & 7 {
	case clsALU:
		return checkALU(in)
	case clsST, clsSTX:
		return checkWord(in.K)
	case clsLD, clsLDX:
		switch in.Code & 0xe0 {
		case modeMEM:
			return checkWord(in.K)
		case modeABS:
			return checkAbs(in.K)
		}
	case clsJMP:
		rest := uint32(len(code) - pc - 1)
		if in.Code == clsJMP|jmpJA {
			if in.K >= rest {
				return fmt.Sprintf("jump by %d leaves the program", in.K)
			}
		} else if uint32(in.Jt) >= rest || uint32(in.Jf) >= rest {
			return fmt.Sprintf("jump by %d or %d leaves the program", in.Jt, in.Jf)
		}
	}
	return ""
}

func checkALU(in *Instr) string {
	if in.Code&srcX != 0 {
		return ""
	}
	switch in.Code & 0xf0 {
	case aluDiv, aluMod:
		if in.K == 0 {
			return "division by zero"
		}
	case aluLsh, aluRsh:
		if in.K >= 32 {
			return fmt.Sprintf("shift by %d, at most 31", in.K)
		}
	}
	return ""
}

func checkWord(k uint32) string {
	if k >= memWords {
		return fmt.Sprintf("M[%d]: scratch memory has words 0 to %d", k, memWords-1)
	}
	return ""
}

func checkAbs(k uint32) string {
	if k < adOff {
		return ""
	}
	name, a, ok := ancillaryAt(k - adOff)
	if !ok {
		return fmt.Sprintf("ancillary load %d is unknown", k-adOff)
	}
	if a.op == 0 {
		return name + ": " + a.refuse
	}
	return ""
}

// allowed is chk_code_allowed.
func allowed(c uint16) bool {
	if c > 0xff {
		return false
	}
	switch c & 7 {
	case clsALU:
		op := c & 0xf0
		return op <= aluXor && (op != aluNeg || c&srcX == 0)
	case clsLD:
		switch c &^ 7 & 0xe0 {
		case modeABS, modeIND:
			return c&0x18 <= szB
		case modeIMM, modeLEN, modeMEM:
			return c&0x18 == szW
		}
		return false
	case clsLDX:
		switch c & 0xe0 {
		case modeIMM, modeLEN, modeMEM:
			return c&0x18 == szW
		case modeMSH:
			return c&0x18 == szB
		}
		return false
	case clsST, clsSTX:
		return c == clsST || c == clsSTX
	case clsJMP:
		op := c & 0xf0
		return c == clsJMP|jmpJA || op >= jmpJEQ && op <= jmpJSET
	case clsRET:
		return c == clsRET|srcK || c == clsRET|retA
	}
	return c == clsMISC|miscTAX || c == clsMISC|miscTXA
}

// checkMem is check_load_and_stores: valid[pc] holds the scratch words written
// on every path to pc. Jumps go forward, so one pass settles it.
func checkMem(code []Instr) error {
	valid := make([]uint16, len(code))
	for i := range valid {
		valid[i] = 0xffff
	}
	var words uint16
	meet := func(pc int) { valid[pc] &= words }
	for pc := range code {
		in := &code[pc]
		words &= valid[pc]
		switch in.Code {
		case clsST, clsSTX:
			words |= 1 << in.K
		case clsLD | modeMEM, clsLDX | modeMEM:
			if words>>in.K&1 == 0 {
				return &Error{pc + 1, fmt.Sprintf("M[%d] is read before it is written", in.K)}
			}
		case clsJMP | jmpJA:
			meet(pc + 1 + int(in.K))
			words = 0xffff
		default:
			if in.Code&7 == clsJMP {
				meet(pc + 1 + int(in.Jt))
				meet(pc + 1 + int(in.Jf))
				words = 0xffff
			}
		}
	}
	return nil
}

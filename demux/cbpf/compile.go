package cbpf

// kind is an operation of the compiled form: classes, modes and sources of the
// instruction set folded into one dense number, so that a run is one jump per
// instruction.
type kind uint8

const (
	opNone kind = iota
	opRetK
	opRetA
	opLdW // absolute, not negative
	opLdH
	opLdB
	opLdNeg // absolute in a header area
	opIndW
	opIndH
	opIndB
	opLdImm
	opLdLen
	opLdMem
	opLdxImm
	opLdxLen
	opLdxMem
	opMsh
	opSt
	opStx
	opTax
	opTxa
	opModK // by multiplication with the reciprocal
	opAndK
	opAddK
	opSubK
	opMulK
	opDivK
	opOrK
	opXorK
	opLshK
	opRshK
	opNeg
	opAddX
	opSubX
	opMulX
	opDivX
	opModX
	opAndX
	opOrX
	opXorX
	opLshX
	opRshX
	opJa
	opJeqK
	opJgtK
	opJgeK
	opJsetK
	opJeqX
	opJgtX
	opJgeX
	opJsetX
	opProto
	opPktType
	opIfindex
	opQueue
	opHaType
	opRxHash
	opCPU
	opVLANTCI
	opVLANAvail
	opVLANTPID
	opRand
)

// op is a compiled instruction. Jump targets are absolute.
type op struct {
	kind   kind
	n      uint8 // bytes of an absolute load
	jt, jf uint16
	k      uint32
	recip  uint64 // of opModK
}

var aluK = [...]kind{opAddK, opSubK, opMulK, opDivK, opOrK, opAndK, opLshK, opRshK, opNeg, opModK, opXorK}
var aluX = [...]kind{opAddX, opSubX, opMulX, opDivX, opOrX, opAndX, opLshX, opRshX, opNeg, opModX, opXorX}
var jmpK = [...]kind{opJa, opJeqK, opJgtK, opJgeK, opJsetK}
var jmpX = [...]kind{opJa, opJeqX, opJgtX, opJgeX, opJsetX}

// compile translates checked instructions.
func compile(raw []Instr) *Program {
	p := &Program{raw: raw, code: make([]op, len(raw))}
	for pc := range raw {
		o := &p.code[pc]
		translate(&raw[pc], pc, o)
		switch o.kind {
		case opSt, opStx, opLdMem, opLdxMem:
			p.mem = true
		}
	}
	p.fast = quicken(p.code)
	return p
}

func translate(in *Instr, pc int, o *op) {
	o.k = in.K
	switch in.Code & 7 {
	case clsLD:
		translateLoad(in, o)
	case clsLDX:
		o.kind = map[uint16]kind{modeIMM: opLdxImm, modeLEN: opLdxLen, modeMEM: opLdxMem, modeMSH: opMsh}[in.Code&0xe0]
	case clsST:
		o.kind = opSt
	case clsSTX:
		o.kind = opStx
	case clsALU:
		table := &aluK
		if in.Code&srcX != 0 {
			table = &aluX
		}
		o.kind = table[in.Code>>4&15]
		if o.kind == opModK {
			o.recip = ^uint64(0)/uint64(in.K) + 1
		}
	case clsJMP:
		table := &jmpK
		if in.Code&srcX != 0 {
			table = &jmpX
		}
		o.kind = table[in.Code>>4&15]
		o.jt, o.jf = uint16(pc+1+int(in.Jt)), uint16(pc+1+int(in.Jf))
		if o.kind == opJa {
			o.jt = uint16(pc + 1 + int(in.K))
		}
	case clsRET:
		o.kind = opRetK
		if in.Code == clsRET|retA {
			o.kind = opRetA
		}
	default:
		o.kind = opTax
		if in.Code == clsMISC|miscTXA {
			o.kind = opTxa
		}
	}
}

// translateLoad handles loads into A. The size of an ancillary load does not
// matter, as in the kernel.
func translateLoad(in *Instr, o *op) {
	size := in.Code >> 3 & 3 // 0 W, 1 H, 2 B
	switch in.Code & 0xe0 {
	case modeIMM:
		o.kind = opLdImm
	case modeLEN:
		o.kind = opLdLen
	case modeMEM:
		o.kind = opLdMem
	case modeIND:
		o.kind = [...]kind{opIndW, opIndH, opIndB}[size]
	default:
		switch {
		case in.K >= adOff:
			_, a, _ := ancillaryAt(in.K - adOff)
			o.kind = a.op
		case in.K >= 1<<31:
			o.kind, o.n = opLdNeg, [...]uint8{4, 2, 1}[size]
		default:
			o.kind, o.n = [...]kind{opLdW, opLdH, opLdB}[size], [...]uint8{4, 2, 1}[size]
		}
	}
}

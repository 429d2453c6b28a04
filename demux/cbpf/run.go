package cbpf

import (
	"encoding/binary"
	"math/bits"
)

// Run returns the program's result for one packet. It allocates nothing.
func (p *Program) Run(in *Input) uint32 {
	if p.fast.load != opNone {
		return p.fast.run(in)
	}
	if p.mem {
		var m [memWords]uint32
		return run(p.code, in, &m)
	}
	return run(p.code, in, nil)
}

// run interprets: the operations that steering programs are made of here, all
// others in step. m is nil for programs without scratch memory.
func run(code []op, in *Input, m *[memWords]uint32) uint32 {
	var a, x uint32
	for pc := 0; uint(pc) < uint(len(code)); pc++ {
		o := &code[pc]
		switch o.kind {
		case opRetK:
			return o.k
		case opRetA:
			return a
		case opLdW:
			if uint64(o.k)+4 > uint64(len(in.Data)) {
				return 0
			}
			a = binary.BigEndian.Uint32(in.Data[o.k:])
		case opLdB:
			if uint64(o.k) >= uint64(len(in.Data)) {
				return 0
			}
			a = uint32(in.Data[o.k])
		case opCPU:
			a = in.CPU
		case opRxHash:
			a = in.RxHash
		case opModK:
			hi, _ := bits.Mul64(o.recip*uint64(a), uint64(o.k))
			a = uint32(hi)
		case opAndK:
			a &= o.k
		case opJa:
			pc = int(o.jt) - 1
		case opJeqK:
			pc = o.jump(a == o.k)
		case opJgtK:
			pc = o.jump(a > o.k)
		case opJgeK:
			pc = o.jump(a >= o.k)
		case opJsetK:
			pc = o.jump(a&o.k != 0)
		case opJeqX:
			pc = o.jump(a == x)
		case opJgtX:
			pc = o.jump(a > x)
		case opJgeX:
			pc = o.jump(a >= x)
		case opJsetX:
			pc = o.jump(a&x != 0)
		default:
			var ok bool
			if a, x, ok = o.step(in, a, x, m); !ok {
				return 0
			}
		}
	}
	return 0
}

// step runs an operation that neither jumps nor returns. ok is false when the
// program ends with result 0: a load beyond the packet, a division by zero.
func (o *op) step(in *Input, a, x uint32, m *[memWords]uint32) (a2, x2 uint32, ok bool) {
	switch {
	case o.kind >= opAddK && o.kind <= opNeg:
		return o.aluConst(a), x, true
	case o.kind >= opAddX && o.kind <= opRshX:
		if x == 0 && (o.kind == opDivX || o.kind == opModX) {
			return a, x, false
		}
		return o.aluX(a, x), x, true
	case o.kind >= opProto:
		return in.ancillary(o.kind), x, true
	}
	var b []byte
	switch o.kind {
	case opLdImm:
		return o.k, x, true
	case opLdLen:
		return in.Len, x, true
	case opLdMem:
		return m[o.k&15], x, true
	case opLdxImm:
		return a, o.k, true
	case opLdxLen:
		return a, in.Len, true
	case opLdxMem:
		return a, m[o.k&15], true
	case opSt:
		m[o.k&15] = a
		return a, x, true
	case opStx:
		m[o.k&15] = x
		return a, x, true
	case opTax:
		return a, a, true
	case opTxa:
		return x, x, true
	case opMsh:
		if b = in.bytes(o.k, 1); b == nil {
			return a, x, false
		}
		return a, uint32(b[0]&15) * 4, true
	case opIndW, opIndH, opIndB:
		b = in.bytes(x+o.k, 4>>(o.kind-opIndW))
	default: // opLdH, opLdNeg
		b = in.bytes(o.k, uint32(o.n))
	}
	return number(b), x, b != nil
}

// aluConst is arithmetic of A with a constant.
func (o *op) aluConst(a uint32) uint32 {
	switch o.kind {
	case opAddK:
		return a + o.k
	case opSubK:
		return a - o.k
	case opMulK:
		return a * o.k
	case opDivK:
		return a / o.k
	case opOrK:
		return a | o.k
	case opXorK:
		return a ^ o.k
	case opLshK:
		return a << (o.k & 31)
	case opRshK:
		return a >> (o.k & 31)
	}
	return -a // opNeg
}

// aluX is arithmetic of A with X. Shift counts are masked, as eBPF's 32-bit
// shifts are.
func (o *op) aluX(a, x uint32) uint32 {
	switch o.kind {
	case opAddX:
		return a + x
	case opSubX:
		return a - x
	case opMulX:
		return a * x
	case opDivX:
		return a / x
	case opModX:
		return a % x
	case opAndX:
		return a & x
	case opOrX:
		return a | x
	case opXorX:
		return a ^ x
	case opLshX:
		return a << (x & 31)
	}
	return a >> (x & 31) // opRshX
}

// jump returns the program counter before the step to the target.
func (o *op) jump(taken bool) int {
	if taken {
		return int(o.jt) - 1
	}
	return int(o.jf) - 1
}

// number reads up to four bytes, most significant first.
func number(b []byte) (n uint32) {
	for _, c := range b {
		n = n<<8 | uint32(c)
	}
	return n
}

// ancillary returns what is not in the packet's bytes.
func (in *Input) ancillary(k kind) uint32 {
	switch k {
	case opRand:
		return in.random()
	case opProto:
		return uint32(in.EtherType)
	case opPktType:
		return uint32(in.PktType)
	case opIfindex:
		return in.Ifindex
	case opQueue:
		return in.Queue
	case opHaType:
		return uint32(in.HaType)
	case opVLANTCI:
		return uint32(in.VLANTCI)
	case opVLANTPID:
		return uint32(in.VLANTPID)
	case opVLANAvail:
		if in.VLANAvail {
			return 1
		}
	}
	return 0
}

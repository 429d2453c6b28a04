package cbpf

import (
	"encoding/binary"
	"math/bits"
)

// quick is the straight-line form of what nearly all steering programs are: a
// load, at most one operation with a constant, `ret a`. It has no program
// counter and no dispatch loop.
type quick struct {
	load, alu kind // opNone: not this form; alu opNone: no operation
	off, k    uint32
	end       uint64 // bytes of Data that the load needs
	recip     uint64
}

// quicken returns the straight-line form of code, if it has one.
func quicken(code []op) (q quick) {
	if len(code) != 2 && len(code) != 3 || code[len(code)-1].kind != opRetA {
		return quick{}
	}
	ld := &code[0]
	switch ld.kind {
	case opLdW, opLdH, opLdB:
		q.end = uint64(ld.k) + uint64(ld.n)
	case opCPU, opRxHash, opLdLen, opRand:
	default:
		return quick{}
	}
	if len(code) == 3 {
		op := &code[1]
		switch op.kind {
		case opModK, opAndK, opRshK, opDivK:
			q.alu, q.k, q.recip = op.kind, op.k, op.recip
		default:
			return quick{}
		}
	}
	q.load, q.off = ld.kind, ld.k
	return q
}

// run computes the result.
func (q *quick) run(in *Input) (a uint32) {
	if q.end > uint64(len(in.Data)) {
		return 0
	}
	switch q.load {
	case opLdW:
		a = binary.BigEndian.Uint32(in.Data[q.off:])
	case opLdH:
		a = uint32(binary.BigEndian.Uint16(in.Data[q.off:]))
	case opLdB:
		a = uint32(in.Data[q.off])
	case opCPU:
		a = in.CPU
	case opRxHash:
		a = in.RxHash
	case opLdLen:
		a = in.Len
	default:
		a = in.random()
	}
	switch q.alu {
	case opModK:
		hi, _ := bits.Mul64(q.recip*uint64(a), uint64(q.k))
		a = uint32(hi)
	case opAndK:
		a &= q.k
	case opRshK:
		a >>= q.k & 31
	case opDivK:
		a /= q.k
	}
	return a
}

#include "textflag.h"

// func Line(p unsafe.Pointer)
TEXT ·Line(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), AX
	PREFETCHT0 (AX)
	RET

// func Lines(base unsafe.Pointer, idx []uint32)
TEXT ·Lines(SB), NOSPLIT, $0-32
	MOVQ base+0(FP), AX
	MOVQ idx_base+8(FP), SI
	MOVQ idx_len+16(FP), CX
	TESTQ CX, CX
	JZ   done
loop:
	MOVL (SI), DX
	SHLQ $6, DX
	PREFETCHT1 (AX)(DX*1)
	ADDQ $4, SI
	DECQ CX
	JNZ  loop
done:
	RET

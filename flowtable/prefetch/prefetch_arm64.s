#include "textflag.h"

// func Line(p unsafe.Pointer)
TEXT ·Line(SB), NOSPLIT, $0-8
	MOVD p+0(FP), R0
	PRFM (R0), PLDL1KEEP
	RET

// func Lines(base unsafe.Pointer, idx []uint32)
TEXT ·Lines(SB), NOSPLIT, $0-32
	MOVD base+0(FP), R0
	MOVD idx_base+8(FP), R1
	MOVD idx_len+16(FP), R2
	CBZ  R2, done
loop:
	MOVWU.P 4(R1), R3
	ADD  R3<<6, R0, R4
	PRFM (R4), PLDL2KEEP
	SUBS $1, R2, R2
	BNE  loop
done:
	RET

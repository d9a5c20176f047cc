#include "textflag.h"

// func multiply8(y *float64, start *int, column *int32, value, x *float64, rows int)
//
// Z0 has the partial sums of a row. K2 has a bit for each element of the last, incomplete eight.
TEXT ·multiply8(SB), NOSPLIT, $0-48
	MOVQ y+0(FP), DI
	MOVQ start+8(FP), R8
	MOVQ column+16(FP), R9
	MOVQ value+24(FP), R10
	MOVQ x+32(FP), SI
	MOVQ rows+40(FP), R11
	MOVQ (R8), AX
	LEAQ (R9)(AX*4), R9
	LEAQ (R10)(AX*8), R10
row:
	MOVQ 8(R8), CX
	SUBQ (R8), CX
	ADDQ $8, R8
	VPXORQ Z0, Z0, Z0
	SUBQ $8, CX
	JL rest
eight:
	VMOVDQU (R9), Y1
	KXNORW K1, K1, K1
	VPXORQ Z2, Z2, Z2
	VGATHERDPD (SI)(Y1*8), K1, Z2
	VMULPD (R10), Z2, Z2
	VADDPD Z2, Z0, Z0
	ADDQ $32, R9
	ADDQ $64, R10
	SUBQ $8, CX
	JGE eight
rest:
	ADDQ $8, CX
	JEQ sum
	MOVL $1, DX
	SHLL CX, DX
	DECL DX
	KMOVW DX, K2
	KMOVW DX, K1
	VMOVDQU32.Z (R9), K2, Z1
	VPXORQ Z2, Z2, Z2
	VGATHERDPD (SI)(Y1*8), K1, Z2
	VMULPD.Z (R10), Z2, K2, Z2
	VADDPD Z2, Z0, Z0
	LEAQ (R9)(CX*4), R9
	LEAQ (R10)(CX*8), R10
sum:
	VEXTRACTF64X4 $1, Z0, Y1
	VADDPD Y1, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VADDPD X1, X0, X0
	VUNPCKHPD X0, X0, X1
	VADDSD X1, X0, X0
	VMOVSD X0, (DI)
	ADDQ $8, DI
	DECQ R11
	JNE row
	VZEROUPPER
	RET

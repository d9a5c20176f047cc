#include "textflag.h"

// PAIR sets X to the two elements of x whose numbers are at AT(R9). Gather instructions would take longer: on an Intel
// Xeon (family 6, model 106), a gather of eight elements takes 40 cycles, and four times PAIR takes 8. The microcode
// against Gather Data Sampling (INTEL-SA-00828) makes gathers slow.
#define PAIR(AT, X) \
	MOVQ AT(R9), AX; \
	MOVL AX, BX; \
	SHRQ $32, AX; \
	VMOVSD (SI)(BX*8), X; \
	VMOVHPD (SI)(AX*8), X, X

// func multiply8(y *float64, start *int, column *int32, value, x *float64, rows int)
//
// Y0 and Y5 have the partial sums of a row, each for four of eight elements. If the last, incomplete eight has at least
// four elements, Y6 gets the first four sums, and Y0 the other four, to which the remaining elements are added.
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
	VXORPD Y0, Y0, Y0
	VXORPD Y5, Y5, Y5
	SUBQ $8, CX
	JL four
eight:
	PAIR(0, X1)
	PAIR(8, X2)
	PAIR(16, X3)
	PAIR(24, X4)
	VINSERTF128 $1, X2, Y1, Y1
	VINSERTF128 $1, X4, Y3, Y3
	VMULPD (R10), Y1, Y1
	VMULPD 32(R10), Y3, Y3
	VADDPD Y1, Y0, Y0
	VADDPD Y3, Y5, Y5
	ADDQ $32, R9
	ADDQ $64, R10
	SUBQ $8, CX
	JGE eight
four:
	ADDQ $8, CX
	TESTQ $4, CX
	JEQ two
	PAIR(0, X1)
	PAIR(8, X2)
	VINSERTF128 $1, X2, Y1, Y1
	VMULPD (R10), Y1, Y1
	VADDPD Y1, Y0, Y0
	ADDQ $16, R9
	ADDQ $32, R10
	VMOVAPD Y0, Y6
	VMOVAPD Y5, Y0
two:
	TESTQ $2, CX
	JEQ one
	PAIR(0, X1)
	VMULPD (R10), X1, X1
	ADDQ $8, R9
	ADDQ $16, R10
	TESTQ $1, CX
	JEQ rest
	MOVL (R9), BX
	VMOVSD (SI)(BX*8), X2
	VMULSD (R10), X2, X2
	VINSERTF128 $1, X2, Y1, Y1
	ADDQ $4, R9
	ADDQ $8, R10
	JMP rest
one:
	TESTQ $1, CX
	JEQ sum
	MOVL (R9), BX
	VMOVSD (SI)(BX*8), X1
	VMULSD (R10), X1, X1
	ADDQ $4, R9
	ADDQ $8, R10
rest:
	VADDPD Y1, Y0, Y0
sum:
	TESTQ $4, CX
	JEQ last
	VMOVAPD Y6, Y5
last:
	VADDPD Y5, Y0, Y0
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

#include "textflag.h"

// TRANSPOSE transposes the eight vectors Z0 to Z7: first pairs of numbers, then pairs of these.
// The results are in Z0, Z16, Z1, Z17, Z2, Z18, Z3, Z19.
#define TRANSPOSE \
	VUNPCKLPD Z1, Z0, Z8; \
	VUNPCKHPD Z1, Z0, Z9; \
	VUNPCKLPD Z3, Z2, Z10; \
	VUNPCKHPD Z3, Z2, Z11; \
	VUNPCKLPD Z5, Z4, Z12; \
	VUNPCKHPD Z5, Z4, Z13; \
	VUNPCKLPD Z7, Z6, Z14; \
	VUNPCKHPD Z7, Z6, Z15; \
	VSHUFF64X2 $0x88, Z10, Z8, Z4; \
	VSHUFF64X2 $0xDD, Z10, Z8, Z5; \
	VSHUFF64X2 $0x88, Z14, Z12, Z6; \
	VSHUFF64X2 $0xDD, Z14, Z12, Z7; \
	VSHUFF64X2 $0x88, Z6, Z4, Z0; \
	VSHUFF64X2 $0xDD, Z6, Z4, Z2; \
	VSHUFF64X2 $0x88, Z7, Z5, Z1; \
	VSHUFF64X2 $0xDD, Z7, Z5, Z3; \
	VSHUFF64X2 $0x88, Z11, Z9, Z4; \
	VSHUFF64X2 $0xDD, Z11, Z9, Z5; \
	VSHUFF64X2 $0x88, Z15, Z13, Z6; \
	VSHUFF64X2 $0xDD, Z15, Z13, Z7; \
	VSHUFF64X2 $0x88, Z6, Z4, Z16; \
	VSHUFF64X2 $0xDD, Z6, Z4, Z18; \
	VSHUFF64X2 $0x88, Z7, Z5, Z17; \
	VSHUFF64X2 $0xDD, Z7, Z5, Z19

// PLACES sets R8, R9 and R10 to the addresses of the first, the fourth and the seventh of eight rows. The
// first row is at P, and the rows are AX bytes apart.
#define PLACES(P) \
	LEAQ (AX)(AX*2), R11; \
	MOVQ P, R8; \
	LEAQ (P)(R11*1), R9; \
	LEAQ (P)(R11*2), R10

// func columns8(dst *float64, src *complex128, row, count int)
//
// row is the distance of rows in bytes. count is the number of blocks, each of which has four complex numbers
// of each of the eight rows.
TEXT ·columns8(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ row+16(FP), AX
	MOVQ count+24(FP), CX
	PLACES(SI)
loop:
	VMOVUPD (R8), Z0
	VMOVUPD (R8)(AX*1), Z1
	VMOVUPD (R8)(AX*2), Z2
	VMOVUPD (R9), Z3
	VMOVUPD (R9)(AX*1), Z4
	VMOVUPD (R9)(AX*2), Z5
	VMOVUPD (R10), Z6
	VMOVUPD (R10)(AX*1), Z7
	TRANSPOSE
	VMOVUPD Z0, 0(DI)
	VMOVUPD Z16, 64(DI)
	VMOVUPD Z1, 128(DI)
	VMOVUPD Z17, 192(DI)
	VMOVUPD Z2, 256(DI)
	VMOVUPD Z18, 320(DI)
	VMOVUPD Z3, 384(DI)
	VMOVUPD Z19, 448(DI)
	ADDQ $64, R8
	ADDQ $64, R9
	ADDQ $64, R10
	ADDQ $512, DI
	DECQ CX
	JNE loop
	VZEROUPPER
	RET

// func rows8(dst *complex128, src *float64, row, count int)
TEXT ·rows8(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ row+16(FP), AX
	MOVQ count+24(FP), CX
	PLACES(DI)
loop:
	VMOVUPD 0(SI), Z0
	VMOVUPD 64(SI), Z1
	VMOVUPD 128(SI), Z2
	VMOVUPD 192(SI), Z3
	VMOVUPD 256(SI), Z4
	VMOVUPD 320(SI), Z5
	VMOVUPD 384(SI), Z6
	VMOVUPD 448(SI), Z7
	TRANSPOSE
	VMOVUPD Z0, (R8)
	VMOVUPD Z16, (R8)(AX*1)
	VMOVUPD Z1, (R8)(AX*2)
	VMOVUPD Z17, (R9)
	VMOVUPD Z2, (R9)(AX*1)
	VMOVUPD Z18, (R9)(AX*2)
	VMOVUPD Z3, (R10)
	VMOVUPD Z19, (R10)(AX*1)
	ADDQ $64, R8
	ADDQ $64, R9
	ADDQ $64, R10
	ADDQ $512, SI
	DECQ CX
	JNE loop
	VZEROUPPER
	RET

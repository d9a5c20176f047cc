#include "textflag.h"
#include "stencil_amd64.h"

// func smooth8(u, rm, rc, rp, pm, pc, pp, a, b, k *float64, n int)
TEXT ·smooth8(SB), NOSPLIT, $0-88
	MOVQ u+0(FP), DI
	MOVQ rm+8(FP), R8
	MOVQ rc+16(FP), R9
	MOVQ rp+24(FP), R10
	MOVQ pm+32(FP), R11
	MOVQ pc+40(FP), R12
	MOVQ pp+48(FP), R13
	MOVQ a+56(FP), BX
	MOVQ b+64(FP), DX
	MOVQ k+72(FP), AX
	MOVQ n+80(FP), CX
	VBROADCASTSD 0(AX), Z16 // centre
	VBROADCASTSD 8(AX), Z17 // faces
	VBROADCASTSD 16(AX), Z18 // edges
	FIRST_SUMS
loop:
	NEXT_SUMS
	VALIGNQ $7, Z2, Z4, Z6       // faces, here
	VALIGNQ $6, Z2, Z4, Z7       // faces, left
	VALIGNQ $7, Z3, Z5, Z8       // edges, here
	VMOVUPD 0(R9)(AX*1), Z9
	VADDPD 16(R9)(AX*1), Z9, Z9
	VADDPD Z6, Z9, Z9
	VADDPD Z7, Z8, Z8
	VADDPD Z4, Z8, Z8
	VMULPD 8(R9)(AX*1), Z16, Z10
	VMULPD Z9, Z17, Z9
	VMULPD Z8, Z18, Z8
	VADDPD Z9, Z10, Z10
	VADDPD Z8, Z10, Z10
	VADDPD 8(DI)(AX*1), Z10, Z10
	VMOVUPD Z10, 8(DI)(AX*1)
	VMOVAPD Z4, Z2
	VMOVAPD Z5, Z3
	ADDQ $64, AX
	CMPQ AX, CX
	JB loop
	VZEROUPPER
	RET

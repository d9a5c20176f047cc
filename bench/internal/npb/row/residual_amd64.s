#include "textflag.h"

// func residual8(r, v, um, uc, up, pm, pc, pp, a, b, k *float64, n int)
//
// A pass processes the points i to i+7. It computes the sums of the faces and of the edges at the points i+1
// to i+8. VALIGNQ combines these sums with the sums of the previous pass to the sums at the points i to i+7
// and i-1 to i+6, so that each number is loaded once. Before the first pass, lanes 6 and 7 have the sums at
// points 0 and 1.
TEXT ·residual8(SB), NOSPLIT, $0-96
	MOVQ r+0(FP), DI
	MOVQ v+8(FP), SI
	MOVQ um+16(FP), R8
	MOVQ uc+24(FP), R9
	MOVQ up+32(FP), R10
	MOVQ pm+40(FP), R11
	MOVQ pc+48(FP), R12
	MOVQ pp+56(FP), R13
	MOVQ a+64(FP), BX
	MOVQ b+72(FP), DX
	MOVQ k+80(FP), AX
	MOVQ n+88(FP), CX
	VBROADCASTSD 0(AX), Z16 // centre
	VBROADCASTSD 8(AX), Z17 // edges
	VBROADCASTSD 16(AX), Z18 // corners
	MOVQ $0xC0, AX
	KMOVW AX, K1
	VMOVUPD.Z -48(BX), K1, Z0
	VMOVUPD.Z -48(DX), K1, Z1
	VADDPD Z1, Z0, Z0
	VMOVUPD Z0, K1, -48(R13)
	VMOVUPD.Z -48(R8), K1, Z2
	VMOVUPD.Z -48(R10), K1, Z3
	VADDPD Z3, Z2, Z2
	VMOVUPD.Z -48(R12), K1, Z3
	VADDPD Z3, Z2, Z2 // faces
	VMOVUPD.Z -48(R11), K1, Z3
	VADDPD Z0, Z3, Z3 // edges
	SHLQ $3, CX
	XORQ AX, AX
loop:
	VMOVUPD 16(BX)(AX*1), Z0
	VADDPD 16(DX)(AX*1), Z0, Z0
	VMOVUPD Z0, 16(R13)(AX*1)
	VMOVUPD 16(R8)(AX*1), Z4
	VADDPD 16(R10)(AX*1), Z4, Z4
	VADDPD 16(R12)(AX*1), Z4, Z4 // faces, right
	VADDPD 16(R11)(AX*1), Z0, Z5 // edges, right
	VALIGNQ $6, Z2, Z4, Z7       // faces, left
	VALIGNQ $7, Z3, Z5, Z8       // edges, here
	VALIGNQ $6, Z3, Z5, Z9       // edges, left
	VADDPD Z7, Z8, Z8
	VADDPD Z4, Z8, Z8
	VADDPD Z5, Z9, Z9
	VMULPD 8(R9)(AX*1), Z16, Z10
	VMULPD Z8, Z17, Z8
	VMULPD Z9, Z18, Z9
	VMOVUPD 8(SI)(AX*1), Z11
	VSUBPD Z10, Z11, Z11
	VSUBPD Z8, Z11, Z11
	VSUBPD Z9, Z11, Z11
	VMOVUPD Z11, 8(DI)(AX*1)
	VMOVAPD Z4, Z2
	VMOVAPD Z5, Z3
	ADDQ $64, AX
	CMPQ AX, CX
	JB loop
	VZEROUPPER
	RET

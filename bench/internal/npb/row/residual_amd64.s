#include "textflag.h"
#include "stencil_amd64.h"

// func residual8(r, v, um, uc, up, pm, pc, pp, a, b, k *float64, n int)
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
	FIRST_SUMS
loop:
	NEXT_SUMS
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

#include "textflag.h"

// func smooth8(u, rm, rc, rp, pm, pc, pp, a, b, k *float64, n int)
//
// A pass processes the points i to i+7 in the same way as residual8.
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

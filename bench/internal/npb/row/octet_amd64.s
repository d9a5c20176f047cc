#include "textflag.h"

// func split8(dst *float64, src *complex128, at *int, count, groups int)
TEXT ·split8(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ at+16(FP), R8
	MOVQ count+24(FP), CX
	MOVQ groups+32(FP), R9
next:
	MOVQ (R8), AX
	SHLQ $4, AX
	ADDQ SI, AX
	MOVQ R9, DX
loop:
	VMOVUPD 0(AX), Z0
	VMOVUPD 64(AX), Z1
	VUNPCKLPD Z1, Z0, Z2
	VUNPCKHPD Z1, Z0, Z3
	VMOVUPD Z2, 0(DI)
	VMOVUPD Z3, 64(DI)
	ADDQ $128, AX
	ADDQ $128, DI
	DECQ DX
	JNE loop
	ADDQ $8, R8
	DECQ CX
	JNE next
	VZEROUPPER
	RET

// func join8(dst *complex128, src *float64, at *int, count, groups int)
TEXT ·join8(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ at+16(FP), R8
	MOVQ count+24(FP), CX
	MOVQ groups+32(FP), R9
next:
	MOVQ (R8), AX
	SHLQ $4, AX
	ADDQ DI, AX
	MOVQ R9, DX
loop:
	VMOVUPD 0(SI), Z0
	VMOVUPD 64(SI), Z1
	VUNPCKLPD Z1, Z0, Z2
	VUNPCKHPD Z1, Z0, Z3
	VMOVUPD Z2, 0(AX)
	VMOVUPD Z3, 64(AX)
	ADDQ $128, AX
	ADDQ $128, SI
	DECQ DX
	JNE loop
	ADDQ $8, R8
	DECQ CX
	JNE next
	VZEROUPPER
	RET

// func damp8(dst *float64, values *complex128, at *int, steps, factors *float64, count, groups int)
TEXT ·damp8(SB), NOSPLIT, $0-56
	MOVQ dst+0(FP), DI
	MOVQ values+8(FP), SI
	MOVQ at+16(FP), R8
	MOVQ steps+24(FP), R9
	MOVQ factors+32(FP), R10
	MOVQ count+40(FP), CX
	MOVQ groups+48(FP), R11
next:
	MOVQ (R8), AX
	SHLQ $4, AX
	ADDQ SI, AX
	VBROADCASTSD (R9), Z4
	MOVQ R10, BX
	MOVQ R11, DX
loop:
	VMOVUPD 0(AX), Z0
	VMOVUPD 64(AX), Z1
	VMULPD (BX), Z4, Z5
	VUNPCKLPD Z1, Z0, Z2
	VUNPCKHPD Z1, Z0, Z3
	VMULPD Z5, Z2, Z2
	VMULPD Z5, Z3, Z3
	VMOVUPD Z2, 0(DI)
	VMOVUPD Z3, 64(DI)
	VUNPCKLPD Z3, Z2, Z0
	VUNPCKHPD Z3, Z2, Z1
	VMOVUPD Z0, 0(AX)
	VMOVUPD Z1, 64(AX)
	ADDQ $128, AX
	ADDQ $128, DI
	ADDQ $64, BX
	DECQ DX
	JNE loop
	ADDQ $8, R8
	ADDQ $8, R9
	DECQ CX
	JNE next
	VZEROUPPER
	RET

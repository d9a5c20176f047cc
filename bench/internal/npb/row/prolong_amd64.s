#include "textflag.h"

// These are the orders that interleave the first halves, and the second halves, of two vectors: one number of
// each vector in turn.
DATA low<>+0(SB)/8, $0
DATA low<>+8(SB)/8, $8
DATA low<>+16(SB)/8, $1
DATA low<>+24(SB)/8, $9
DATA low<>+32(SB)/8, $2
DATA low<>+40(SB)/8, $10
DATA low<>+48(SB)/8, $3
DATA low<>+56(SB)/8, $11
GLOBL low<>(SB), RODATA|NOPTR, $64

DATA high<>+0(SB)/8, $4
DATA high<>+8(SB)/8, $12
DATA high<>+16(SB)/8, $5
DATA high<>+24(SB)/8, $13
DATA high<>+32(SB)/8, $6
DATA high<>+40(SB)/8, $14
DATA high<>+48(SB)/8, $7
DATA high<>+56(SB)/8, $15
GLOBL high<>(SB), RODATA|NOPTR, $64

DATA shares<>+0(SB)/8, $0.125
DATA shares<>+8(SB)/8, $0.25
GLOBL shares<>(SB), RODATA|NOPTR, $16

// func prolong8(out, a, b, c, d *float64, n int)
//
// A pass processes points i to i+7 of the coarse grid, and adds to points 2i-1 to 2i+14 of out. It adds each
// coarse point to one of these points, and the mean of the coarse point and its left neighbor to another.
// Before each pass, lane 7 of Z0 has the sum at point i-1.
TEXT ·prolong8(SB), NOSPLIT, $0-48
	MOVQ out+0(FP), DI
	MOVQ a+8(FP), R8
	MOVQ b+16(FP), R9
	MOVQ c+24(FP), R10
	MOVQ d+32(FP), R11
	MOVQ n+40(FP), CX
	SHLQ $3, CX
	VBROADCASTSD shares<>+0(SB), Z16
	VBROADCASTSD shares<>+8(SB), Z17
	VMOVUPD low<>(SB), Z18
	VMOVUPD high<>(SB), Z19
	VBROADCASTSD 0(R8), Z0
	VBROADCASTSD 0(R9), Z1
	VADDPD Z1, Z0, Z0
	VBROADCASTSD 0(R10), Z1
	VBROADCASTSD 0(R11), Z2
	VADDPD Z2, Z1, Z1
	VADDPD Z1, Z0, Z0
	XORQ AX, AX
loop:
	VMOVUPD 8(R8)(AX*1), Z1
	VADDPD 8(R9)(AX*1), Z1, Z1
	VMOVUPD 8(R10)(AX*1), Z2
	VADDPD 8(R11)(AX*1), Z2, Z2
	VADDPD Z2, Z1, Z1
	VALIGNQ $7, Z0, Z1, Z3
	VADDPD Z1, Z3, Z3
	VMULPD Z3, Z16, Z3
	VMULPD Z1, Z17, Z4
	VMOVAPD Z3, Z5
	VPERMT2PD Z4, Z18, Z5
	VPERMT2PD Z4, Z19, Z3
	VADDPD 8(DI)(AX*2), Z5, Z5
	VADDPD 72(DI)(AX*2), Z3, Z3
	VMOVUPD Z5, 8(DI)(AX*2)
	VMOVUPD Z3, 72(DI)(AX*2)
	VMOVAPD Z1, Z0
	ADDQ $64, AX
	CMPQ AX, CX
	JB loop
	VZEROUPPER
	RET

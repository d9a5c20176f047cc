#include "textflag.h"

DATA evens<>+0(SB)/8, $0
DATA evens<>+8(SB)/8, $2
DATA evens<>+16(SB)/8, $4
DATA evens<>+24(SB)/8, $6
DATA evens<>+32(SB)/8, $8
DATA evens<>+40(SB)/8, $10
DATA evens<>+48(SB)/8, $12
DATA evens<>+56(SB)/8, $14
GLOBL evens<>(SB), RODATA|NOPTR, $64

DATA odds<>+0(SB)/8, $1
DATA odds<>+8(SB)/8, $3
DATA odds<>+16(SB)/8, $5
DATA odds<>+24(SB)/8, $7
DATA odds<>+32(SB)/8, $9
DATA odds<>+40(SB)/8, $11
DATA odds<>+48(SB)/8, $13
DATA odds<>+56(SB)/8, $15
GLOBL odds<>(SB), RODATA|NOPTR, $64

DATA weights<>+0(SB)/8, $0.5
DATA weights<>+8(SB)/8, $0.25
DATA weights<>+16(SB)/8, $0.125
GLOBL weights<>(SB), RODATA|NOPTR, $24

// SUM sets V to the weighted sum of the nine rows, for the points from at on. LOAD determines which lanes are
// loaded.
#define SUM(at, LOAD, V) \
	LOAD(at, R8, Z0); LOAD(at, R9, Z1); VADDPD Z1, Z0, Z0; \
	LOAD(at, R10, Z1); VADDPD Z1, Z0, Z0; \
	LOAD(at, R11, Z1); VADDPD Z1, Z0, Z0; \
	LOAD(at, BX, Z2); LOAD(at, DX, Z3); VADDPD Z3, Z2, Z2; \
	LOAD(at, R12, Z3); VADDPD Z3, Z2, Z2; \
	LOAD(at, R13, Z3); VADDPD Z3, Z2, Z2; \
	LOAD(at, SI, V); VMULPD V, Z16, V; \
	VMULPD Z0, Z17, Z0; VADDPD Z0, V, V; \
	VMULPD Z2, Z18, Z2; VADDPD Z2, V, V

#define ALL(at, P, V) VMOVUPD at(P)(AX*2), V
#define LAST(at, P, V) VMOVUPD.Z at(P)(AX*2), K1, V

// func restrict8(out, fine *float64, row, plane, n int)
//
// A pass computes points i to i+7 from the points 2i to 2i+15 of the fine grid, which it sorts into even and
// odd points. The last odd point of the previous pass is the left neighbor of point 2i. For the first pass,
// this neighbor is point 1, in lane 7.
TEXT ·restrict8(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), DI
	MOVQ fine+8(FP), BX
	MOVQ row+16(FP), AX
	MOVQ plane+24(FP), CX
	LEAQ (BX)(AX*1), R10  // faces: row j of the plane before
	LEAQ (BX)(AX*2), DX   // edges: BX, DX, R12, R13
	LEAQ (BX)(CX*1), R8   // faces: row j-1
	LEAQ (R8)(AX*1), SI   // centre
	LEAQ (R8)(AX*2), R9   // faces: row j+1
	LEAQ (BX)(CX*2), R12
	LEAQ (R12)(AX*1), R11 // faces: row j of the plane after
	LEAQ (R12)(AX*2), R13
	MOVQ n+32(FP), CX
	SHLQ $3, CX
	VBROADCASTSD weights<>+0(SB), Z16
	VBROADCASTSD weights<>+8(SB), Z17
	VBROADCASTSD weights<>+16(SB), Z18
	VMOVUPD evens<>(SB), Z19
	VMOVUPD odds<>(SB), Z20
	MOVQ $0x80, AX
	KMOVW AX, K1
	XORQ AX, AX
	SUM(-48, LAST, Z4)
loop:
	SUM(16, ALL, Z5)
	SUM(80, ALL, Z6)
	VMOVAPD Z5, Z7
	VPERMT2PD Z6, Z19, Z7 // even points
	VPERMT2PD Z6, Z20, Z5 // odd points
	VALIGNQ $7, Z4, Z5, Z8
	VADDPD Z5, Z8, Z8
	VMULPD Z8, Z16, Z8
	VADDPD Z8, Z7, Z7
	VMOVUPD Z7, 8(DI)(AX*1)
	VMOVAPD Z5, Z4
	ADDQ $64, AX
	CMPQ AX, CX
	JB loop
	VZEROUPPER
	RET

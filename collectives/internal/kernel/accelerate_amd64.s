#include "textflag.h"

// In every body, DI, SI and DX have the addresses dst, a and b, and CX has the
// number of bytes that are left, a multiple of 64 (a block). The main loop of
// WIDE processes 256 bytes at a time, and its second loop one block. The loop of
// NARROW processes 128 bytes, and the code after it the last block, if one is
// left. The loop of EXTREME processes one block. The first source operand of
// each instruction is a, as in op(a, b). Go's assembler writes the first source
// operand in second place.

#define LOAD \
	MOVQ dst+0(FP), DI; \
	MOVQ a+8(FP), SI; \
	MOVQ b+16(FP), DX; \
	MOVQ n+24(FP), CX

#define STEP(bytes) \
	ADDQ $bytes, SI; \
	ADDQ $bytes, DX; \
	ADDQ $bytes, DI; \
	SUBQ $bytes, CX

#define WIDE(OP) \
	LOAD; \
	SUBQ $256, CX; \
	JB rest; \
loop: \
	VMOVDQU64 0(SI), Z0; \
	VMOVDQU64 64(SI), Z1; \
	VMOVDQU64 128(SI), Z2; \
	VMOVDQU64 192(SI), Z3; \
	OP 0(DX), Z0, Z0; \
	OP 64(DX), Z1, Z1; \
	OP 128(DX), Z2, Z2; \
	OP 192(DX), Z3, Z3; \
	VMOVDQU64 Z0, 0(DI); \
	VMOVDQU64 Z1, 64(DI); \
	VMOVDQU64 Z2, 128(DI); \
	VMOVDQU64 Z3, 192(DI); \
	STEP(256); \
	JAE loop; \
rest: \
	ADDQ $256, CX; \
	JEQ done; \
one: \
	VMOVDQU64 0(SI), Z0; \
	OP 0(DX), Z0, Z0; \
	VMOVDQU64 Z0, 0(DI); \
	STEP(64); \
	JNE one; \
done: \
	VZEROUPPER; \
	RET

#define NARROW(OP) \
	LOAD; \
	SUBQ $128, CX; \
	JB rest; \
loop: \
	VMOVDQU 0(SI), Y0; \
	VMOVDQU 32(SI), Y1; \
	VMOVDQU 64(SI), Y2; \
	VMOVDQU 96(SI), Y3; \
	OP 0(DX), Y0, Y0; \
	OP 32(DX), Y1, Y1; \
	OP 64(DX), Y2, Y2; \
	OP 96(DX), Y3, Y3; \
	VMOVDQU Y0, 0(DI); \
	VMOVDQU Y1, 32(DI); \
	VMOVDQU Y2, 64(DI); \
	VMOVDQU Y3, 96(DI); \
	STEP(128); \
	JAE loop; \
rest: \
	ADDQ $128, CX; \
	JEQ done; \
	VMOVDQU 0(SI), Y0; \
	VMOVDQU 32(SI), Y1; \
	OP 0(DX), Y0, Y0; \
	OP 32(DX), Y1, Y1; \
	VMOVDQU Y0, 0(DI); \
	VMOVDQU Y1, 32(DI); \
done: \
	VZEROUPPER; \
	RET

// Go's min and max differ from the processor's MIN and MAX instructions in two
// ways: the result is NaN if either operand is NaN, and -0 is less than +0.
// VRANGE orders the zeros. But if one operand is NaN, VRANGE returns the other
// operand. So if a or b is NaN, the kernel takes a+b, which is NaN.
// In the immediate operand of VRANGE, bits 1:0 are 0 for min and 1 for max, and
// bits 3:2 are 1: the result keeps the sign of the operand that is selected
// (Intel SDM, VRANGEPS).
#define EXTREME(CMP, RANGE, ADD, which) \
	LOAD; \
loop: \
	VMOVDQU64 0(SI), Z0; \
	VMOVDQU64 0(DX), Z1; \
	CMP $3, Z1, Z0, K1; \
	RANGE $which, Z1, Z0, Z2; \
	ADD Z1, Z0, K1, Z2; \
	VMOVDQU64 Z2, 0(DI); \
	STEP(64); \
	JNE loop; \
	VZEROUPPER; \
	RET

TEXT ·sumFloat32x16(SB), NOSPLIT, $0-32
	WIDE(VADDPS)

TEXT ·sumFloat64x8(SB), NOSPLIT, $0-32
	WIDE(VADDPD)

TEXT ·sumInt32x16(SB), NOSPLIT, $0-32
	WIDE(VPADDD)

TEXT ·sumInt64x8(SB), NOSPLIT, $0-32
	WIDE(VPADDQ)

TEXT ·prodFloat32x16(SB), NOSPLIT, $0-32
	WIDE(VMULPS)

TEXT ·prodFloat64x8(SB), NOSPLIT, $0-32
	WIDE(VMULPD)

TEXT ·minInt32x16(SB), NOSPLIT, $0-32
	WIDE(VPMINSD)

TEXT ·maxInt32x16(SB), NOSPLIT, $0-32
	WIDE(VPMAXSD)

TEXT ·minInt64x8(SB), NOSPLIT, $0-32
	WIDE(VPMINSQ)

TEXT ·maxInt64x8(SB), NOSPLIT, $0-32
	WIDE(VPMAXSQ)


TEXT ·minFloat32x16(SB), NOSPLIT, $0-32
	EXTREME(VCMPPS, VRANGEPS, VADDPS, 4)

TEXT ·maxFloat32x16(SB), NOSPLIT, $0-32
	EXTREME(VCMPPS, VRANGEPS, VADDPS, 5)

TEXT ·minFloat64x8(SB), NOSPLIT, $0-32
	EXTREME(VCMPPD, VRANGEPD, VADDPD, 4)

TEXT ·maxFloat64x8(SB), NOSPLIT, $0-32
	EXTREME(VCMPPD, VRANGEPD, VADDPD, 5)


TEXT ·sumFloat32x8(SB), NOSPLIT, $0-32
	NARROW(VADDPS)

TEXT ·sumFloat64x4(SB), NOSPLIT, $0-32
	NARROW(VADDPD)

TEXT ·sumInt32x8(SB), NOSPLIT, $0-32
	NARROW(VPADDD)

TEXT ·sumInt64x4(SB), NOSPLIT, $0-32
	NARROW(VPADDQ)

TEXT ·prodFloat32x8(SB), NOSPLIT, $0-32
	NARROW(VMULPS)

TEXT ·prodFloat64x4(SB), NOSPLIT, $0-32
	NARROW(VMULPD)

TEXT ·minInt32x8(SB), NOSPLIT, $0-32
	NARROW(VPMINSD)

TEXT ·maxInt32x8(SB), NOSPLIT, $0-32
	NARROW(VPMAXSD)

TEXT ·sumInt8x32(SB), NOSPLIT, $0-32
	NARROW(VPADDB)

TEXT ·sumInt16x16(SB), NOSPLIT, $0-32
	NARROW(VPADDW)

TEXT ·prodInt16x16(SB), NOSPLIT, $0-32
	NARROW(VPMULLW)

TEXT ·prodInt32x8(SB), NOSPLIT, $0-32
	NARROW(VPMULLD)

TEXT ·minInt8x32(SB), NOSPLIT, $0-32
	NARROW(VPMINSB)

TEXT ·maxInt8x32(SB), NOSPLIT, $0-32
	NARROW(VPMAXSB)

TEXT ·minInt16x16(SB), NOSPLIT, $0-32
	NARROW(VPMINSW)

TEXT ·maxInt16x16(SB), NOSPLIT, $0-32
	NARROW(VPMAXSW)

TEXT ·minUint8x32(SB), NOSPLIT, $0-32
	NARROW(VPMINUB)

TEXT ·maxUint8x32(SB), NOSPLIT, $0-32
	NARROW(VPMAXUB)

TEXT ·minUint16x16(SB), NOSPLIT, $0-32
	NARROW(VPMINUW)

TEXT ·maxUint16x16(SB), NOSPLIT, $0-32
	NARROW(VPMAXUW)

TEXT ·minUint32x8(SB), NOSPLIT, $0-32
	NARROW(VPMINUD)

TEXT ·maxUint32x8(SB), NOSPLIT, $0-32
	NARROW(VPMAXUD)

TEXT ·andx32(SB), NOSPLIT, $0-32
	NARROW(VPAND)

TEXT ·orx32(SB), NOSPLIT, $0-32
	NARROW(VPOR)

TEXT ·xorx32(SB), NOSPLIT, $0-32
	NARROW(VPXOR)


// func cpuid(leaf, subleaf uint32) (a, b, c, d uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	MOVL subleaf+4(FP), CX
	CPUID
	MOVL AX, a+8(FP)
	MOVL BX, b+12(FP)
	MOVL CX, c+16(FP)
	MOVL DX, d+20(FP)
	RET

// func xgetbv() uint32
TEXT ·xgetbv(SB), NOSPLIT, $0-4
	XORL CX, CX
	XGETBV
	MOVL AX, ret+0(FP)
	RET

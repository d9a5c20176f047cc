#include "textflag.h"

// In every body, R0, R1 and R2 have the addresses dst, a and b, and R3 has the number of bytes that
// are left. Go's assembler knows few vector instructions of arm64, so the instructions are written as
// numbers (Arm ARM, C7.2: "Vd.T, Vn.T, Vm.T" has Rm in bits 20:16, Rn in bits 9:5 and Rd in bits
// 4:0). In these instructions Rd and Rn are register i, and Rm is register 4+i. So a is the first
// operand, as in op(a, b).
//
// Go compiles min and max to FMIN and FMAX: the result is NaN if either operand is NaN, and -0 is less
// than +0 (Arm ARM, FMIN (vector) with FPCR.AH = 0).

#define BODY(OP) \
	MOVD dst+0(FP), R0; \
	MOVD a+8(FP), R1; \
	MOVD b+16(FP), R2; \
	MOVD n+24(FP), R3; \
loop: \
	VLD1.P 64(R1), [V0.B16, V1.B16, V2.B16, V3.B16]; \
	VLD1.P 64(R2), [V4.B16, V5.B16, V6.B16, V7.B16]; \
	WORD $(OP + 0x40000); \
	WORD $(OP + 0x50021); \
	WORD $(OP + 0x60042); \
	WORD $(OP + 0x70063); \
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R0); \
	SUBS $64, R3; \
	BNE loop; \
	RET

TEXT ·sumInt8x16(SB), NOSPLIT, $0-32 // ADD 16B
	BODY(0x4E208400)

TEXT ·sumInt16x8(SB), NOSPLIT, $0-32 // ADD 8H
	BODY(0x4E608400)

TEXT ·sumInt32x4(SB), NOSPLIT, $0-32 // ADD 4S
	BODY(0x4EA08400)

TEXT ·sumInt64x2(SB), NOSPLIT, $0-32 // ADD 2D
	BODY(0x4EE08400)

TEXT ·sumFloat32x4(SB), NOSPLIT, $0-32 // FADD 4S
	BODY(0x4E20D400)

TEXT ·sumFloat64x2(SB), NOSPLIT, $0-32 // FADD 2D
	BODY(0x4E60D400)

TEXT ·prodInt8x16(SB), NOSPLIT, $0-32 // MUL 16B
	BODY(0x4E209C00)

TEXT ·prodInt16x8(SB), NOSPLIT, $0-32 // MUL 8H
	BODY(0x4E609C00)

TEXT ·prodInt32x4(SB), NOSPLIT, $0-32 // MUL 4S
	BODY(0x4EA09C00)

TEXT ·prodFloat32x4(SB), NOSPLIT, $0-32 // FMUL 4S
	BODY(0x6E20DC00)

TEXT ·prodFloat64x2(SB), NOSPLIT, $0-32 // FMUL 2D
	BODY(0x6E60DC00)

TEXT ·minInt8x16(SB), NOSPLIT, $0-32 // SMIN 16B
	BODY(0x4E206C00)

TEXT ·maxInt8x16(SB), NOSPLIT, $0-32 // SMAX 16B
	BODY(0x4E206400)

TEXT ·minInt16x8(SB), NOSPLIT, $0-32 // SMIN 8H
	BODY(0x4E606C00)

TEXT ·maxInt16x8(SB), NOSPLIT, $0-32 // SMAX 8H
	BODY(0x4E606400)

TEXT ·minInt32x4(SB), NOSPLIT, $0-32 // SMIN 4S
	BODY(0x4EA06C00)

TEXT ·maxInt32x4(SB), NOSPLIT, $0-32 // SMAX 4S
	BODY(0x4EA06400)

TEXT ·minUint8x16(SB), NOSPLIT, $0-32 // UMIN 16B
	BODY(0x6E206C00)

TEXT ·maxUint8x16(SB), NOSPLIT, $0-32 // UMAX 16B
	BODY(0x6E206400)

TEXT ·minUint16x8(SB), NOSPLIT, $0-32 // UMIN 8H
	BODY(0x6E606C00)

TEXT ·maxUint16x8(SB), NOSPLIT, $0-32 // UMAX 8H
	BODY(0x6E606400)

TEXT ·minUint32x4(SB), NOSPLIT, $0-32 // UMIN 4S
	BODY(0x6EA06C00)

TEXT ·maxUint32x4(SB), NOSPLIT, $0-32 // UMAX 4S
	BODY(0x6EA06400)

TEXT ·minFloat32x4(SB), NOSPLIT, $0-32 // FMIN 4S
	BODY(0x4EA0F400)

TEXT ·maxFloat32x4(SB), NOSPLIT, $0-32 // FMAX 4S
	BODY(0x4E20F400)

TEXT ·minFloat64x2(SB), NOSPLIT, $0-32 // FMIN 2D
	BODY(0x4EE0F400)

TEXT ·maxFloat64x2(SB), NOSPLIT, $0-32 // FMAX 2D
	BODY(0x4E60F400)

TEXT ·andx16(SB), NOSPLIT, $0-32 // AND 16B
	BODY(0x4E201C00)

TEXT ·orx16(SB), NOSPLIT, $0-32 // ORR 16B
	BODY(0x4EA01C00)

TEXT ·xorx16(SB), NOSPLIT, $0-32 // EOR 16B
	BODY(0x6E201C00)

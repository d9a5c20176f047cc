#include "textflag.h"

// CRC32C by folding: "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
// Instruction", Intel 2009, with bits reflected as in the message. A lane of 128 bits
// is added to the lane that begins D bits later, as
//
//	low * (x^(D+63) mod G)  +  high * (x^(D-1) mod G)
//
// The exponents are D+63 and D-1 instead of D+64 and D, because a product of two
// reflected words has a further factor x. Each constant has 32 bits, reflected, in the
// upper half of its word. Of each pair of constants, the first is for low.

// 2048 bits, the distance of a unit
DATA folding<>+0(SB)/8, $0xe9a5d8be00000000
DATA folding<>+8(SB)/8, $0x1426a81500000000
// 512 bits, the distance of registers
DATA folding<>+16(SB)/8, $0x1c19243b00000000
DATA folding<>+24(SB)/8, $0x75bba45b00000000
// 384, 256 and 128 bits, the distances of lanes 0 to 2 to lane 3, whose constants are 0
DATA folding<>+32(SB)/8, $0xa46ef4aa00000000
DATA folding<>+40(SB)/8, $0x6051243f00000000
DATA folding<>+48(SB)/8, $0x33ccbbbc00000000
DATA folding<>+56(SB)/8, $0xa2158b3400000000
DATA folding<>+64(SB)/8, $0x3743f7bd00000000
DATA folding<>+72(SB)/8, $0x3171d43000000000
DATA folding<>+80(SB)/8, $0
DATA folding<>+88(SB)/8, $0
GLOBL folding<>(SB), RODATA|NOPTR, $96

// FOLD adds acc, moved by the distance of the constants k, to what lies at from.
#define FOLD(from, k, acc, t) \
	VPCLMULQDQ $0x00, k, acc, t;   \
	VPCLMULQDQ $0x11, k, acc, acc; \
	VPTERNLOGQ $0x96, from, t, acc

// func fold(remainder uint32, p *byte, n int) uint32
TEXT ·fold(SB), NOSPLIT, $0-28
	MOVL remainder+0(FP), AX
	MOVQ p+8(FP), SI
	MOVQ n+16(FP), CX

	VMOVD AX, X8
	VMOVDQU64 0(SI), Z0
	VMOVDQU64 64(SI), Z1
	VMOVDQU64 128(SI), Z2
	VMOVDQU64 192(SI), Z3
	VPXORQ Z8, Z0, Z0
	VBROADCASTI32X4 folding<>+0(SB), Z9
	ADDQ $256, SI
	SUBQ $256, CX
	JZ join

loop:
	FOLD(0(SI), Z9, Z0, Z4)
	FOLD(64(SI), Z9, Z1, Z5)
	FOLD(128(SI), Z9, Z2, Z6)
	FOLD(192(SI), Z9, Z3, Z7)
	ADDQ $256, SI
	SUBQ $256, CX
	JNZ loop

join:
	VBROADCASTI32X4 folding<>+16(SB), Z9
	FOLD(Z1, Z9, Z0, Z4)
	FOLD(Z2, Z9, Z0, Z4)
	FOLD(Z3, Z9, Z0, Z4)

	// Lanes 0 to 2 move to the place of lane 3.
	VMOVDQU64 folding<>+32(SB), Z9
	VEXTRACTI32X4 $3, Z0, X8
	VPCLMULQDQ $0x00, Z9, Z0, Z1
	VPCLMULQDQ $0x11, Z9, Z0, Z2
	VPXORQ Z2, Z1, Z1
	VEXTRACTI32X4 $1, Z1, X2
	VEXTRACTI32X4 $2, Z1, X3
	VPXOR X1, X8, X8
	VPXOR X2, X8, X8
	VPXOR X3, X8, X8

	// What is left is a message of 16 bytes.
	VMOVQ X8, AX
	VPEXTRQ $1, X8, BX
	XORQ DX, DX
	CRC32Q AX, DX
	CRC32Q BX, DX
	VZEROUPPER
	MOVL DX, ret+24(FP)
	RET

// func sum(remainder uint32, p *byte, n int) uint32
TEXT ·sum(SB), NOSPLIT, $0-28
	MOVL remainder+0(FP), AX
	MOVQ p+8(FP), SI
	MOVQ n+16(FP), CX
	SUBQ $8, CX
	JLT four

eight:
	CRC32Q (SI), AX
	ADDQ $8, SI
	SUBQ $8, CX
	JGE eight

four:
	TESTB $4, CX
	JZ two
	CRC32L (SI), AX
	ADDQ $4, SI

two:
	TESTB $2, CX
	JZ one
	CRC32W (SI), AX
	ADDQ $2, SI

one:
	TESTB $1, CX
	JZ done
	CRC32B (SI), AX

done:
	MOVL AX, ret+24(FP)
	RET

#include "textflag.h"

// COUNT adds 1 to the element of the bucket of the key at R8 + at. SHRX needs one micro-operation, in contrast to a
// shift by the register CL, which the compiler uses.
#define COUNT(at, key) \
	SHRXL CX, at(R8), key; \
	ANDL $0x3FF, key; \
	INCL (SI)(key*4)

// func tally4(counts, keys *int32, groups, shift int)
//
// It adds 1 to an element of counts for each of 4*groups keys. groups is at least 1.
TEXT ·tally4(SB), NOSPLIT, $0-32
	MOVQ counts+0(FP), SI
	MOVQ keys+8(FP), R8
	MOVQ groups+16(FP), R9
	MOVQ shift+24(FP), CX
loop:
	COUNT(0, AX)
	COUNT(4, BX)
	COUNT(8, DX)
	COUNT(12, DI)
	ADDQ $16, R8
	DECQ R9
	JNZ loop
	RET

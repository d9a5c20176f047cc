#include "textflag.h"

// PREFETCHW 64(DI)(DX*4), 0F 0D /1; processors without it take it for a NOP.
#define PREFETCHW_NEXT BYTE $0x0F; BYTE $0x0D; BYTE $0x4C; BYTE $0x97; BYTE $0x40

// func distribute1(sorted, next, keys *int32, places, count, shift int) (done int)
//
// It copies each key to the next free place of its bucket, and fetches the cache line that the bucket reaches after 16
// more keys. Without the prefetch, the stores would wait for this line, one store after the other. It ends at a key
// whose place is not below places.
TEXT ·distribute1(SB), NOSPLIT, $0-56
	MOVQ sorted+0(FP), DI
	MOVQ next+8(FP), SI
	MOVQ keys+16(FP), R8
	MOVQ places+24(FP), R10
	MOVQ count+32(FP), R9
	MOVQ shift+40(FP), CX
	XORL R11, R11
loop:
	MOVL (R8)(R11*4), AX
	SHRXL CX, AX, BX
	ANDL $0x3FF, BX
	MOVL (SI)(BX*4), DX
	CMPQ DX, R10
	JCC done // also if the place is negative: MOVL has cleared the upper half
	MOVL AX, (DI)(DX*4)
	PREFETCHW_NEXT
	INCL DX
	MOVL DX, (SI)(BX*4)
	INCQ R11
	CMPQ R11, R9
	JLT loop
done:
	MOVQ R11, done+48(FP)
	RET

#include "textflag.h"

// PREFETCHW 64(DI)(DX*4), 0F 0D /1; processors without it take it for a NOP.
#define PREFETCHW_NEXT BYTE $0x0F; BYTE $0x0D; BYTE $0x4C; BYTE $0x97; BYTE $0x40

// PUT copies the key at an offset from R8 to the next free place of its bucket. It fetches the cache line that
// the bucket reaches after 16 more keys. Without the prefetch, the stores would wait for this line, one store after
// the other.
#define PUT(offset) \
	MOVL offset(R8), AX; \
	SHRXL CX, AX, BX; \
	ANDL $0x3FF, BX; \
	MOVL (SI)(BX*4), DX; \
	MOVL AX, (DI)(DX*4); \
	PREFETCHW_NEXT; \
	INCL DX; \
	MOVL DX, (SI)(BX*4)

// func distribute1(sorted, next, keys *int32, count, shift int)
TEXT ·distribute1(SB), NOSPLIT, $0-40
	MOVQ sorted+0(FP), DI
	MOVQ next+8(FP), SI
	MOVQ keys+16(FP), R8
	MOVQ count+24(FP), R9
	MOVQ shift+32(FP), CX
four:
	SUBQ $4, R9
	JLT rest
	PUT(0)
	PUT(4)
	PUT(8)
	PUT(12)
	ADDQ $16, R8
	JMP four
rest:
	ADDQ $4, R9
	JEQ done
one:
	PUT(0)
	ADDQ $4, R8
	DECQ R9
	JNE one
done:
	RET

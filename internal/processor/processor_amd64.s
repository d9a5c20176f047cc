//go:build !race

#include "textflag.h"

// On amd64 every store is a release (Intel SDM 3A, 9.2.2).

// func Store64(p *uint64, v uint64)
TEXT ·Store64(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), AX
	MOVQ v+8(FP), BX
	MOVQ BX, (AX)
	RET

// func Store32(p *uint32, v uint32)
TEXT ·Store32(SB), NOSPLIT, $0-12
	MOVQ p+0(FP), AX
	MOVL v+8(FP), BX
	MOVL BX, (AX)
	RET

// func PrefetchWrite(p *uint64)
// PREFETCHW (AX), 0F 0D /1; processors without it take it for a NOP.
TEXT ·PrefetchWrite(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), AX
	BYTE $0x0F; BYTE $0x0D; BYTE $0x08
	RET

// func PrefetchWriteLines(p *uint64, bytes uint64)
TEXT ·PrefetchWriteLines(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), AX
	MOVQ bytes+8(FP), CX
	ADDQ AX, CX
next:
	CMPQ AX, CX
	JCC  done
	BYTE $0x0F; BYTE $0x0D; BYTE $0x08
	ADDQ $64, AX
	JMP  next
done:
	RET

// func PrefetchLines(p *uint64, bytes uint64)
TEXT ·PrefetchLines(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), AX
	MOVQ bytes+8(FP), CX
	ADDQ AX, CX
next:
	CMPQ AX, CX
	JCC  done
	PREFETCHT0 (AX)
	ADDQ $64, AX
	JMP  next
done:
	RET

// func DemoteLines(p *uint64, bytes uint64)
// CLDEMOTE (AX), 0F 1C /0; processors without it take it for a NOP.
TEXT ·DemoteLines(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), AX
	MOVQ bytes+8(FP), CX
	ADDQ AX, CX
next:
	CMPQ AX, CX
	JCC  done
	BYTE $0x0F; BYTE $0x1C; BYTE $0x00
	ADDQ $64, AX
	JMP  next
done:
	RET

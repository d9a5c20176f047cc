//go:build !race

#include "textflag.h"

// func Store64(p *uint64, v uint64)
TEXT ·Store64(SB), NOSPLIT, $0-16
	MOVD p+0(FP), R0
	MOVD v+8(FP), R1
	STLR R1, (R0)
	RET

// func Store32(p *uint32, v uint32)
TEXT ·Store32(SB), NOSPLIT, $0-12
	MOVD p+0(FP), R0
	MOVWU v+8(FP), R1
	STLRW R1, (R0)
	RET

// func Fence()
TEXT ·Fence(SB), NOSPLIT, $0-0
	DMB $0xA // ISHST
	RET

// func PrefetchWrite(p *uint64)
TEXT ·PrefetchWrite(SB), NOSPLIT, $0-8
	MOVD p+0(FP), R0
	PRFM (R0), PSTL1KEEP
	RET

// func PrefetchWriteLines(p *uint64, bytes uint64)
TEXT ·PrefetchWriteLines(SB), NOSPLIT, $0-16
	MOVD p+0(FP), R0
	MOVD bytes+8(FP), R1
	ADD  R0, R1
next:
	CMP  R1, R0
	BHS  done
	PRFM (R0), PSTL1KEEP
	ADD  $64, R0
	B    next
done:
	RET

// func PrefetchLines(p *uint64, bytes uint64)
TEXT ·PrefetchLines(SB), NOSPLIT, $0-16
	MOVD p+0(FP), R0
	MOVD bytes+8(FP), R1
	ADD  R0, R1
next:
	CMP  R1, R0
	BHS  done
	PRFM (R0), PLDL1KEEP
	ADD  $64, R0
	B    next
done:
	RET

// func DemoteLines(p *uint64, bytes uint64)
// There is no such hint.
TEXT ·DemoteLines(SB), NOSPLIT, $0-16
	RET

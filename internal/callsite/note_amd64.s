#include "textflag.h"

// func note(s *Site)
TEXT ·note(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ s+0(FP), DI
	MOVQ (BP), AX
	MOVQ $6, CX
next:
	TESTQ AX, AX
	JZ   rest
	MOVQ 8(AX), DX
	MOVQ DX, (DI)
	MOVQ (AX), AX
	ADDQ $8, DI
	DECQ CX
	JNZ  next
	RET
rest:
	MOVQ $0, (DI)
	ADDQ $8, DI
	DECQ CX
	JNZ  rest
	RET

#include "textflag.h"

// func note(s *Site)
TEXT ·note(SB), NOSPLIT|NOFRAME, $0-8
	MOVD s+0(FP), R0
	MOVD (R29), R1
	MOVD $6, R2
next:
	CBZ  R1, rest
	MOVD 8(R1), R3
	MOVD R3, (R0)
	MOVD (R1), R1
	ADD  $8, R0
	SUBS $1, R2
	BNE  next
	RET
rest:
	MOVD ZR, (R0)
	ADD  $8, R0
	SUBS $1, R2
	BNE  rest
	RET

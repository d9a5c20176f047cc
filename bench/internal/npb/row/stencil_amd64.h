// The stencils residual8 and smooth8 have the rows of the sums in R8 (um), R10 (up), R11 (pm), R12 (pc) and R13 (pp), and
// the rows from which they compute pp in BX and DX.
//
// A pass processes the points i to i+7. It computes the sums of the faces and of the edges at the points i+1
// to i+8. VALIGNQ combines these sums with the sums of the previous pass to the sums at the points i to i+7
// and i-1 to i+6, so that each number is loaded once.

// FIRST_SUMS stores the sums at points 0 and 1 in lanes 6 and 7: of the faces in Z2, of the edges in Z3. It makes AX, the
// offset of the first point of a pass in bytes, 0, and multiplies CX by 8.
#define FIRST_SUMS \
	MOVQ $0xC0, AX; \
	KMOVW AX, K1; \
	VMOVUPD.Z -48(BX), K1, Z0; \
	VMOVUPD.Z -48(DX), K1, Z1; \
	VADDPD Z1, Z0, Z0; \
	VMOVUPD Z0, K1, -48(R13); \
	VMOVUPD.Z -48(R8), K1, Z2; \
	VMOVUPD.Z -48(R10), K1, Z3; \
	VADDPD Z3, Z2, Z2; \
	VMOVUPD.Z -48(R12), K1, Z3; \
	VADDPD Z3, Z2, Z2; \
	VMOVUPD.Z -48(R11), K1, Z3; \
	VADDPD Z0, Z3, Z3; \
	SHLQ $3, CX; \
	XORQ AX, AX

// NEXT_SUMS computes the sums at the points i+1 to i+8: of the faces in Z4, of the edges in Z5.
#define NEXT_SUMS \
	VMOVUPD 16(BX)(AX*1), Z0; \
	VADDPD 16(DX)(AX*1), Z0, Z0; \
	VMOVUPD Z0, 16(R13)(AX*1); \
	VMOVUPD 16(R8)(AX*1), Z4; \
	VADDPD 16(R10)(AX*1), Z4, Z4; \
	VADDPD 16(R12)(AX*1), Z4, Z4; \
	VADDPD 16(R11)(AX*1), Z0, Z5

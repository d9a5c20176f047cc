package kernel

// The assembly bodies of the kernels (see type body). Each body ends with VZEROUPPER, so that the SSE
// instructions that follow run at full speed.
//
//go:noescape
func sumFloat32x8(dst, a, b *byte, n int)

//go:noescape
func sumFloat32x16(dst, a, b *byte, n int)

//go:noescape
func sumFloat64x4(dst, a, b *byte, n int)

//go:noescape
func sumFloat64x8(dst, a, b *byte, n int)

//go:noescape
func sumInt32x8(dst, a, b *byte, n int)

//go:noescape
func sumInt32x16(dst, a, b *byte, n int)

//go:noescape
func sumInt64x4(dst, a, b *byte, n int)

//go:noescape
func sumInt64x8(dst, a, b *byte, n int)

//go:noescape
func prodFloat32x8(dst, a, b *byte, n int)

//go:noescape
func prodFloat32x16(dst, a, b *byte, n int)

//go:noescape
func prodFloat64x4(dst, a, b *byte, n int)

//go:noescape
func prodFloat64x8(dst, a, b *byte, n int)

//go:noescape
func minInt32x8(dst, a, b *byte, n int)

//go:noescape
func minInt32x16(dst, a, b *byte, n int)

//go:noescape
func minInt64x8(dst, a, b *byte, n int)

//go:noescape
func maxInt32x8(dst, a, b *byte, n int)

//go:noescape
func maxInt32x16(dst, a, b *byte, n int)

//go:noescape
func maxInt64x8(dst, a, b *byte, n int)

//go:noescape
func minFloat32x16(dst, a, b *byte, n int)

//go:noescape
func minFloat64x8(dst, a, b *byte, n int)

//go:noescape
func maxFloat32x16(dst, a, b *byte, n int)

//go:noescape
func maxFloat64x8(dst, a, b *byte, n int)

//go:noescape
func sumInt8x32(dst, a, b *byte, n int)

//go:noescape
func sumInt16x16(dst, a, b *byte, n int)

//go:noescape
func prodInt16x16(dst, a, b *byte, n int)

//go:noescape
func prodInt32x8(dst, a, b *byte, n int)

//go:noescape
func minInt8x32(dst, a, b *byte, n int)

//go:noescape
func maxInt8x32(dst, a, b *byte, n int)

//go:noescape
func minInt16x16(dst, a, b *byte, n int)

//go:noescape
func maxInt16x16(dst, a, b *byte, n int)

//go:noescape
func minUint8x32(dst, a, b *byte, n int)

//go:noescape
func maxUint8x32(dst, a, b *byte, n int)

//go:noescape
func minUint16x16(dst, a, b *byte, n int)

//go:noescape
func maxUint16x16(dst, a, b *byte, n int)

//go:noescape
func minUint32x8(dst, a, b *byte, n int)

//go:noescape
func maxUint32x8(dst, a, b *byte, n int)

//go:noescape
func andx32(dst, a, b *byte, n int)

//go:noescape
func orx32(dst, a, b *byte, n int)

//go:noescape
func xorx32(dst, a, b *byte, n int)

func cpuid(leaf, subleaf uint32) (a, b, c, d uint32)

func xgetbv() uint32

// features reports whether AVX2 and AVX-512 (F and DQ) can be used. The processor must have the
// instructions, and the operating system must save their registers (Intel SDM volume 1, 13.3 and 14.3;
// AMD APM volume 3, appendix E).
func features() (avx2, avx512 bool) {
	const (
		osxsave, avx   = 1 << 27, 1 << 28 // leaf 1, ecx
		avx2Bit        = 1 << 5           // leaf 7, ebx
		avx512f        = 1 << 16
		avx512dq       = 1 << 17
		ymmState       = 0x6 // XCR0
		zmmState       = 0xe6
		leafOfExtended = 7
	)
	if top, _, _, _ := cpuid(0, 0); top < leafOfExtended {
		return false, false
	}
	if _, _, c, _ := cpuid(1, 0); c&osxsave == 0 || c&avx == 0 {
		return false, false
	}
	state := xgetbv()
	_, b, _, _ := cpuid(leafOfExtended, 0)
	avx2 = state&ymmState == ymmState && b&avx2Bit != 0
	avx512 = avx2 && state&zmmState == zmmState && b&avx512f != 0 && b&avx512dq != 0
	return avx2, avx512
}

// accelerate replaces portable kernels in t by kernels with AVX2 or AVX-512 instructions if the
// processor has these instructions.
func accelerate(t *[codes][kinds]Func) {
	avx2, avx512 := features()
	plain := *t
	if avx2 {
		accelerateAVX2(t, &plain)
	}
	if avx512 {
		accelerateAVX512(t, &plain)
	}
}

// accelerateAVX2 and accelerateAVX512 replace kernels in t. If the operands end with less than a whole
// block, the new kernels call the kernels in the argument plain for the rest.
func accelerateAVX2(t, plain *[codes][kinds]Func) {
	put := func(c Code, loop body, of ...Kind) {
		for _, k := range of {
			t[c][k] = blocks(loop, plain[c][k])
		}
	}
	put(Sum, sumInt8x32, Int8, Uint8)
	put(Sum, sumInt16x16, Int16, Uint16)
	put(Sum, sumInt32x8, Int32, Uint32)
	put(Sum, sumInt64x4, Int64, Uint64)
	put(Sum, sumFloat32x8, Float32, Complex64)
	put(Sum, sumFloat64x4, Float64, Complex128)
	put(Prod, prodInt16x16, Int16, Uint16)
	put(Prod, prodInt32x8, Int32, Uint32)
	put(Prod, prodFloat32x8, Float32)
	put(Prod, prodFloat64x4, Float64)
	put(Min, minInt8x32, Int8)
	put(Max, maxInt8x32, Int8)
	put(Min, minInt16x16, Int16)
	put(Max, maxInt16x16, Int16)
	put(Min, minInt32x8, Int32)
	put(Max, maxInt32x8, Int32)
	put(Min, minUint8x32, Uint8)
	put(Max, maxUint8x32, Uint8)
	put(Min, minUint16x16, Uint16)
	put(Max, maxUint16x16, Uint16)
	put(Min, minUint32x8, Uint32)
	put(Max, maxUint32x8, Uint32)
	for k := Int8; k <= Uint64; k++ {
		put(BAnd, andx32, k)
		put(BOr, orx32, k)
		put(BXor, xorx32, k)
	}
}

func accelerateAVX512(t, plain *[codes][kinds]Func) {
	put := func(c Code, k Kind, loop body) { t[c][k] = blocks(loop, plain[c][k]) }
	put(Sum, Float32, sumFloat32x16)
	put(Sum, Complex64, sumFloat32x16)
	put(Sum, Float64, sumFloat64x8)
	put(Sum, Complex128, sumFloat64x8)
	put(Sum, Int32, sumInt32x16)
	put(Sum, Uint32, sumInt32x16)
	put(Sum, Int64, sumInt64x8)
	put(Sum, Uint64, sumInt64x8)
	put(Prod, Float32, prodFloat32x16)
	put(Prod, Float64, prodFloat64x8)
	put(Min, Int32, minInt32x16)
	put(Max, Int32, maxInt32x16)
	put(Min, Int64, minInt64x8)
	put(Max, Int64, maxInt64x8)
	put(Min, Float32, minFloat32x16)
	put(Max, Float32, maxFloat32x16)
	put(Min, Float64, minFloat64x8)
	put(Max, Float64, maxFloat64x8)
}

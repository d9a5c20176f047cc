package kernel

// The bodies. Each leaves the vector unit as it found it (VZEROUPPER).
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
func andx32(dst, a, b *byte, n int)

//go:noescape
func orx32(dst, a, b *byte, n int)

//go:noescape
func xorx32(dst, a, b *byte, n int)

func cpuid(leaf, subleaf uint32) (a, b, c, d uint32)

func xgetbv() uint32

// features says which vector instructions the processor has and the operating
// system saves (Intel SDM volume 1, 13.3 and 14.3; AMD APM volume 3, appendix E).
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

// accelerate replaces kernels by vector ones as far as the processor goes.
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

// accelerateAVX2 and accelerateAVX512 leave what is shorter than a block to the plain kernels.
func accelerateAVX2(t, plain *[codes][kinds]Func) {
	put := func(c Code, k Kind, loop body) { t[c][k] = blocks(loop, plain[c][k]) }
	put(Sum, Float32, sumFloat32x8)
	put(Sum, Complex64, sumFloat32x8)
	put(Sum, Float64, sumFloat64x4)
	put(Sum, Complex128, sumFloat64x4)
	put(Sum, Int32, sumInt32x8)
	put(Sum, Uint32, sumInt32x8)
	put(Sum, Int64, sumInt64x4)
	put(Sum, Uint64, sumInt64x4)
	put(Prod, Float32, prodFloat32x8)
	put(Prod, Float64, prodFloat64x4)
	put(Min, Int32, minInt32x8)
	put(Max, Int32, maxInt32x8)
	for k := Int8; k <= Uint64; k++ {
		put(BAnd, k, andx32)
		put(BOr, k, orx32)
		put(BXor, k, xorx32)
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

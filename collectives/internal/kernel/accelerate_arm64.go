package kernel

// The assembly bodies of the kernels (see type body). They use NEON, which every arm64 processor has.
//
//go:noescape
func sumInt8x16(dst, a, b *byte, n int)

//go:noescape
func sumInt16x8(dst, a, b *byte, n int)

//go:noescape
func sumInt32x4(dst, a, b *byte, n int)

//go:noescape
func sumInt64x2(dst, a, b *byte, n int)

//go:noescape
func sumFloat32x4(dst, a, b *byte, n int)

//go:noescape
func sumFloat64x2(dst, a, b *byte, n int)

//go:noescape
func prodInt8x16(dst, a, b *byte, n int)

//go:noescape
func prodInt16x8(dst, a, b *byte, n int)

//go:noescape
func prodInt32x4(dst, a, b *byte, n int)

//go:noescape
func prodFloat32x4(dst, a, b *byte, n int)

//go:noescape
func prodFloat64x2(dst, a, b *byte, n int)

//go:noescape
func minInt8x16(dst, a, b *byte, n int)

//go:noescape
func maxInt8x16(dst, a, b *byte, n int)

//go:noescape
func minInt16x8(dst, a, b *byte, n int)

//go:noescape
func maxInt16x8(dst, a, b *byte, n int)

//go:noescape
func minInt32x4(dst, a, b *byte, n int)

//go:noescape
func maxInt32x4(dst, a, b *byte, n int)

//go:noescape
func minUint8x16(dst, a, b *byte, n int)

//go:noescape
func maxUint8x16(dst, a, b *byte, n int)

//go:noescape
func minUint16x8(dst, a, b *byte, n int)

//go:noescape
func maxUint16x8(dst, a, b *byte, n int)

//go:noescape
func minUint32x4(dst, a, b *byte, n int)

//go:noescape
func maxUint32x4(dst, a, b *byte, n int)

//go:noescape
func minFloat32x4(dst, a, b *byte, n int)

//go:noescape
func maxFloat32x4(dst, a, b *byte, n int)

//go:noescape
func minFloat64x2(dst, a, b *byte, n int)

//go:noescape
func maxFloat64x2(dst, a, b *byte, n int)

//go:noescape
func andx16(dst, a, b *byte, n int)

//go:noescape
func orx16(dst, a, b *byte, n int)

//go:noescape
func xorx16(dst, a, b *byte, n int)

// accelerate replaces portable kernels in t by kernels with NEON instructions.
func accelerate(t *[codes][kinds]Func) {
	plain := *t
	put := func(c Code, loop body, of ...Kind) {
		for _, k := range of {
			t[c][k] = blocks(loop, plain[c][k])
		}
	}
	put(Sum, sumInt8x16, Int8, Uint8)
	put(Sum, sumInt16x8, Int16, Uint16)
	put(Sum, sumInt32x4, Int32, Uint32)
	put(Sum, sumInt64x2, Int64, Uint64)
	put(Sum, sumFloat32x4, Float32, Complex64)
	put(Sum, sumFloat64x2, Float64, Complex128)
	put(Prod, prodInt8x16, Int8, Uint8)
	put(Prod, prodInt16x8, Int16, Uint16)
	put(Prod, prodInt32x4, Int32, Uint32)
	put(Prod, prodFloat32x4, Float32)
	put(Prod, prodFloat64x2, Float64)
	put(Min, minInt8x16, Int8)
	put(Max, maxInt8x16, Int8)
	put(Min, minInt16x8, Int16)
	put(Max, maxInt16x8, Int16)
	put(Min, minInt32x4, Int32)
	put(Max, maxInt32x4, Int32)
	put(Min, minUint8x16, Uint8)
	put(Max, maxUint8x16, Uint8)
	put(Min, minUint16x8, Uint16)
	put(Max, maxUint16x8, Uint16)
	put(Min, minUint32x4, Uint32)
	put(Max, maxUint32x4, Uint32)
	put(Min, minFloat32x4, Float32)
	put(Max, maxFloat32x4, Float32)
	put(Min, minFloat64x2, Float64)
	put(Max, maxFloat64x2, Float64)
	for k := Int8; k <= Uint64; k++ {
		put(BAnd, andx16, k)
		put(BOr, orx16, k)
		put(BXor, xorx16, k)
	}
}

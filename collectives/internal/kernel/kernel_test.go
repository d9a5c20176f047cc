package kernel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
)

// special returns n elements of random bits. Some elements are values that float instructions
// treat in a special way: NaN, infinities and both zeros.
func special(r *rand.Rand, k kernel.Kind, n int) []byte {
	b := make([]byte, n*k.Size())
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	switch k {
	case kernel.Float32, kernel.Complex64:
		v := kernel.View[float32](b)
		values := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0, float32(math.Copysign(0, -1)), 1e-40}
		for i, x := range v {
			if x != x || r.IntN(4) == 0 {
				v[i] = values[r.IntN(len(values))]
			}
		}
	case kernel.Float64, kernel.Complex128:
		v := kernel.View[float64](b)
		values := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 5e-324}
		for i, x := range v {
			if x != x || r.IntN(4) == 0 {
				v[i] = values[r.IntN(len(values))]
			}
		}
	case kernel.Bool:
		for i := range b {
			b[i] &= 1
		}
	default:
		for i := range b {
			if r.IntN(3) == 0 {
				b[i] = 0
			}
		}
	}
	return b
}

// step returns the distance to the next tested length. With -short, the distance is random, so
// that some lengths are skipped.
func step() int {
	if testing.Short() {
		return 1 + rand.IntN(9)
	}
	return 1
}

// TestFastKernelsEqualPortable checks that fast kernels compute the bits that the portable
// kernels compute. The lengths reach several blocks, the alignments are random, and dst is
// separate, equal to a, or equal to b.
func TestFastKernelsEqualPortable(t *testing.T) {
	for name, of := range kernel.Variants() {
		t.Run(name, func(t *testing.T) { testFast(t, of) })
	}
}

func testFast(t *testing.T, of func(kernel.Code, kernel.Kind) kernel.Func) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	for c := range kernel.Code(kernel.Codes) {
		for k := range kernel.Kind(kernel.Kinds) {
			fast, plain := of(c, k), kernel.Portable(c, k)
			require.Equal(t, plain == nil, fast == nil, "%v %v", c, k)
			if plain == nil {
				continue
			}
			for n := 0; n < 150; n += step() {
				a, b := special(r, k, n), special(r, k, n)
				want := make([]byte, len(a))
				plain(want, a, b)
				name := fmt.Sprintf("%v of %d %v", c, n, k)

				off := r.IntN(64)
				dst := make([]byte, off+len(a))[off:]
				fast(dst, shifted(r, a), shifted(r, b))
				require.Equal(t, plainNaN(k, want), plainNaN(k, dst), name)

				inA, inB := shifted(r, a), shifted(r, b)
				fast(inA, inA, b)
				require.Equal(t, plainNaN(k, want), plainNaN(k, inA), "%s, dst is a", name)
				fast(inB, a, inB)
				require.Equal(t, plainNaN(k, want), plainNaN(k, inB), "%s, dst is b", name)
			}
		}
	}
}

// plainNaN replaces each NaN in b by the same NaN, because kernels do not promise the payload of
// a NaN.
func plainNaN(k kernel.Kind, b []byte) []byte {
	switch k {
	case kernel.Float32, kernel.Complex64:
		for i, x := range kernel.View[float32](b) {
			if x != x {
				kernel.View[float32](b)[i] = float32(math.NaN())
			}
		}
	case kernel.Float64, kernel.Complex128:
		for i, x := range kernel.View[float64](b) {
			if x != x {
				kernel.View[float64](b)[i] = math.NaN()
			}
		}
	}
	return b
}

// shifted copies b to an address of random alignment, with 64 unused bytes after the copy.
func shifted(r *rand.Rand, b []byte) []byte {
	off := r.IntN(64)
	s := make([]byte, off+len(b)+64)[off:]
	copy(s, b)
	return s[:len(b):len(b)]
}

// TestKernelsStayInside checks that a kernel writes the elements of dst and no byte outside dst.
func TestKernelsStayInside(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for c := range kernel.Code(kernel.Codes) {
		for k := range kernel.Kind(kernel.Kinds) {
			if kernel.Of(c, k) == nil {
				continue
			}
			for n := 0; n < 40; n += step() {
				a, b := special(r, k, n), special(r, k, n)
				room := make([]byte, len(a)+128)
				for i := range room {
					room[i] = 0xa5
				}
				kernel.Of(c, k)(room[64:64+len(a)], a, b)
				for i := range 64 {
					require.EqualValues(t, 0xa5, room[i])
					require.EqualValues(t, 0xa5, room[64+len(a)+i])
				}
			}
		}
	}
}

func TestSemantics(t *testing.T) {
	nan, inf, negZero := math.NaN(), math.Inf(1), math.Copysign(0, -1)
	check(t, kernel.Min, []float64{nan, 1, negZero, 0, -inf}, []float64{1, nan, 0, negZero, inf}, []float64{nan, nan, negZero, negZero, -inf})
	check(t, kernel.Max, []float64{nan, 1, negZero, 0, -inf}, []float64{1, nan, 0, negZero, inf}, []float64{nan, nan, 0, 0, inf})
	check(t, kernel.Sum, []int8{127, -128}, []int8{1, -1}, []int8{-128, 127})
	check(t, kernel.Prod, []complex64{1i}, []complex64{1i}, []complex64{-1})
	check(t, kernel.LAnd, []int32{0, 2, 4}, []int32{1, 1, 3}, []int32{0, 1, 1})
	check(t, kernel.LOr, []int32{0, 2, 0}, []int32{1, 1, 0}, []int32{1, 1, 0})
	check(t, kernel.LXor, []uint16{0, 2, 7}, []uint16{1, 1, 0}, []uint16{1, 0, 1})
	check(t, kernel.LXor, []bool{true, true}, []bool{true, false}, []bool{false, true})
	check(t, kernel.BXor, []uint64{6}, []uint64{3}, []uint64{5})
	check(t, kernel.BOr, []uint64{6}, []uint64{3}, []uint64{7})
	check(t, kernel.BAnd, []uint64{6}, []uint64{3}, []uint64{2})
	check(t, kernel.Max, []uint32{1 << 31}, []uint32{1}, []uint32{1 << 31})
	check(t, kernel.Max, []int64{-1}, []int64{-2}, []int64{-1})
}

func check[T any](t *testing.T, c kernel.Code, a, b, want []T) {
	t.Helper()
	got := make([]T, len(want))
	kernel.Of(c, kernel.KindOf[T]())(kernel.Bytes(got), kernel.Bytes(a), kernel.Bytes(b))
	require.Equal(t, fmt.Sprint(want), fmt.Sprint(got), "%v of %T", c, a)
	for i := range want {
		if f, ok := any(want[i]).(float64); ok {
			require.Equal(t, math.Signbit(f), math.Signbit(any(got[i]).(float64)), "sign of %v", f)
		}
	}
}

func TestKindOf(t *testing.T) {
	type celsius float64
	type flag bool
	require.Equal(t, kernel.Float64, kernel.KindOf[celsius]())
	require.Equal(t, kernel.Bool, kernel.KindOf[flag]())
	require.Equal(t, kernel.Other, kernel.KindOf[[2]int]())
	require.Equal(t, kernel.Other, kernel.KindOf[struct{ X int }]())
	require.Equal(t, kernel.SizeOf[int](), kernel.KindOf[int]().Size())
	require.Equal(t, kernel.SizeOf[uintptr](), kernel.KindOf[uintptr]().Size())
	require.Equal(t, 16, kernel.KindOf[complex128]().Size())
	require.Equal(t, kernel.Int16, kernel.KindOf[int16]())
	require.Zero(t, testing.AllocsPerRun(100, func() { kernel.KindOf[celsius]() }))
}

func TestOverlap(t *testing.T) {
	b := make([]byte, 100)
	for _, c := range []struct {
		x, y          []byte
		same, partial bool
	}{
		{b[:50], b[50:], false, false},
		{b[:51], b[50:], false, true},
		{b[50:], b[:51], false, true},
		{b[:50], b[:20], true, false},
		{b[:0], b[:20], false, false},
	} {
		same, partial := kernel.Overlap(c.x, c.y)
		require.Equal(t, c.same, same)
		require.Equal(t, c.partial, partial)
	}
}

func BenchmarkKernel(b *testing.B) {
	for _, k := range []kernel.Kind{kernel.Float32, kernel.Float64, kernel.Int64} {
		for _, c := range []kernel.Code{kernel.Sum, kernel.Min} {
			for _, bytes := range []int{8, 4 << 10, 256 << 10} {
				dst, x, y := make([]byte, bytes), make([]byte, bytes), make([]byte, bytes)
				for name, f := range map[string]kernel.Func{"fast": kernel.Of(c, k), "portable": kernel.Portable(c, k)} {
					b.Run(fmt.Sprintf("%v/%v/%d/%s", c, k, bytes, name), func(b *testing.B) {
						b.SetBytes(int64(bytes))
						for b.Loop() {
							f(dst, x, y)
						}
					})
				}
			}
		}
	}
}

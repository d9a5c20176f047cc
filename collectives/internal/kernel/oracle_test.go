package kernel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
)

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

func truth[T integer](b bool) T {
	if b {
		return 1
	}
	return 0
}

// integers returns, for each operator on integers, a function that combines two elements as the name
// of the operator says.
func integers[T integer]() map[kernel.Code]func(a, b T) T {
	return map[kernel.Code]func(a, b T) T{
		kernel.Sum: func(a, b T) T { return a + b }, kernel.Prod: func(a, b T) T { return a * b },
		kernel.Min: func(a, b T) T { return min(a, b) }, kernel.Max: func(a, b T) T { return max(a, b) },
		kernel.LAnd: func(a, b T) T { return truth[T](a != 0 && b != 0) },
		kernel.LOr:  func(a, b T) T { return truth[T](a != 0 || b != 0) },
		kernel.LXor: func(a, b T) T { return truth[T]((a == 0) != (b == 0)) },
		kernel.BAnd: func(a, b T) T { return a & b }, kernel.BOr: func(a, b T) T { return a | b },
		kernel.BXor: func(a, b T) T { return a ^ b },
	}
}

func floats[T float32 | float64]() map[kernel.Code]func(a, b T) T {
	return map[kernel.Code]func(a, b T) T{
		kernel.Sum: func(a, b T) T { return a + b }, kernel.Prod: func(a, b T) T { return a * b },
		kernel.Min: unlessNaN[T](math.Min), kernel.Max: unlessNaN[T](math.Max),
	}
}

// unlessNaN returns NaN if an operand is NaN, otherwise the result of f. Without this rule,
// math.Min and math.Max return an infinity for some pairs of an infinity and NaN.
func unlessNaN[T float32 | float64](f func(x, y float64) float64) func(a, b T) T {
	return func(a, b T) T {
		if math.IsNaN(float64(a)) || math.IsNaN(float64(b)) {
			return T(math.NaN())
		}
		return T(f(float64(a), float64(b)))
	}
}

func complexes[T complex64 | complex128]() map[kernel.Code]func(a, b T) T {
	return map[kernel.Code]func(a, b T) T{
		kernel.Sum: func(a, b T) T { return a + b }, kernel.Prod: func(a, b T) T { return a * b },
	}
}

// TestPortableKernels checks, for every kind, that the portable kernels compute what the names of
// the operators say, and that there are no other operators.
func TestPortableKernels(t *testing.T) {
	against(t, kernel.Int8, integers[int8]())
	against(t, kernel.Int16, integers[int16]())
	against(t, kernel.Int32, integers[int32]())
	against(t, kernel.Int64, integers[int64]())
	against(t, kernel.Uint8, integers[uint8]())
	against(t, kernel.Uint16, integers[uint16]())
	against(t, kernel.Uint32, integers[uint32]())
	against(t, kernel.Uint64, integers[uint64]())
	against(t, kernel.Float32, floats[float32]())
	against(t, kernel.Float64, floats[float64]())
	against(t, kernel.Complex64, complexes[complex64]())
	against(t, kernel.Complex128, complexes[complex128]())
	against(t, kernel.Bool, map[kernel.Code]func(a, b bool) bool{
		kernel.LAnd: func(a, b bool) bool { return a && b }, kernel.LOr: func(a, b bool) bool { return a || b },
		kernel.LXor: func(a, b bool) bool { return a != b },
	})
	against(t, kernel.Other, map[kernel.Code]func(a, b struct{}) struct{}{})
}

// against compares the kernels of a kind with the operators of this file.
func against[T any](t *testing.T, k kernel.Kind, operators map[kernel.Code]func(a, b T) T) {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	for c := range kernel.Code(kernel.Codes) {
		operator := operators[c]
		require.Equal(t, operator == nil, kernel.Portable(c, k) == nil, "%v of %v", c, k)
		if operator == nil {
			continue
		}
		const n = 400
		a, b := special(r, k, n), special(r, k, n)
		copy(b[:len(b)/4], a) // some pairs of operands are equal
		want, got := make([]T, n), make([]byte, len(a))
		for i := range want {
			want[i] = operator(kernel.View[T](a)[i], kernel.View[T](b)[i])
		}
		kernel.Portable(c, k)(got, a, b)
		plainNaN(k, kernel.Bytes(want))
		plainNaN(k, got)
		for i := range want {
			size := len(got) / n
			require.Equal(t, kernel.Bytes(want)[i*size:][:size], got[i*size:][:size], "%v of %v: %v, %v", c, k, kernel.View[T](a)[i], kernel.View[T](b)[i])
		}
	}
}

// TestKindsOfTypes checks the kinds of Go's basic types and of named types.
func TestKindsOfTypes(t *testing.T) {
	type (
		flag bool
		i    int
		i8   int8
		i16  int16
		i32  int32
		i64  int64
		u    uint
		u8   uint8
		u16  uint16
		u32  uint32
		u64  uint64
		up   uintptr
		f32  float32
		f64  float64
		c64  complex64
		c128 complex128
	)
	word := map[int][2]kernel.Kind{4: {kernel.Int32, kernel.Uint32}, 8: {kernel.Int64, kernel.Uint64}}[kernel.SizeOf[int]()]
	for i, c := range []struct {
		want       kernel.Kind
		got, named kernel.Kind
		name       string
		size       int
	}{
		{kernel.Bool, kernel.KindOf[bool](), kernel.KindOf[flag](), "bool", 1},
		{word[0], kernel.KindOf[int](), kernel.KindOf[i](), fmt.Sprintf("int%d", 8*kernel.SizeOf[int]()), kernel.SizeOf[int]()},
		{kernel.Int8, kernel.KindOf[int8](), kernel.KindOf[i8](), "int8", 1},
		{kernel.Int16, kernel.KindOf[int16](), kernel.KindOf[i16](), "int16", 2},
		{kernel.Int32, kernel.KindOf[int32](), kernel.KindOf[i32](), "int32", 4},
		{kernel.Int64, kernel.KindOf[int64](), kernel.KindOf[i64](), "int64", 8},
		{word[1], kernel.KindOf[uint](), kernel.KindOf[u](), fmt.Sprintf("uint%d", 8*kernel.SizeOf[int]()), kernel.SizeOf[int]()},
		{kernel.Uint8, kernel.KindOf[uint8](), kernel.KindOf[u8](), "uint8", 1},
		{kernel.Uint16, kernel.KindOf[uint16](), kernel.KindOf[u16](), "uint16", 2},
		{kernel.Uint32, kernel.KindOf[uint32](), kernel.KindOf[u32](), "uint32", 4},
		{kernel.Uint64, kernel.KindOf[uint64](), kernel.KindOf[u64](), "uint64", 8},
		{word[1], kernel.KindOf[uintptr](), kernel.KindOf[up](), fmt.Sprintf("uint%d", 8*kernel.SizeOf[int]()), kernel.SizeOf[int]()},
		{kernel.Float32, kernel.KindOf[float32](), kernel.KindOf[f32](), "float32", 4},
		{kernel.Float64, kernel.KindOf[float64](), kernel.KindOf[f64](), "float64", 8},
		{kernel.Complex64, kernel.KindOf[complex64](), kernel.KindOf[c64](), "complex64", 8},
		{kernel.Complex128, kernel.KindOf[complex128](), kernel.KindOf[c128](), "complex128", 16},
		{kernel.Other, kernel.KindOf[string](), kernel.KindOf[[1]int](), "other", 0},
		{kernel.Other, kernel.KindOf[struct{}](), kernel.KindOf[*int](), "other", 0},
	} {
		require.Equal(t, c.want, c.got, "row %d", i)
		require.Equal(t, c.want, c.named, "row %d", i)
		require.Equal(t, c.name, c.want.String())
		require.Equal(t, c.size, c.want.Size())
	}
	require.Equal(t, "kind 99", kernel.Kind(99).String())
}

func TestNamesOfOperators(t *testing.T) {
	for c, want := range map[kernel.Code]string{
		kernel.Sum: "Sum", kernel.Prod: "Prod", kernel.Min: "Min", kernel.Max: "Max", kernel.LAnd: "LAnd", kernel.LOr: "LOr",
		kernel.LXor: "LXor", kernel.BAnd: "BAnd", kernel.BOr: "BOr", kernel.BXor: "BXor", 99: "operator 99",
	} {
		require.Equal(t, want, c.String())
	}
}

// TestViews checks that a view contains only whole elements and shares the memory of its
// argument.
func TestViews(t *testing.T) {
	words := []uint64{1, 2, 3}
	b := kernel.Bytes(words)
	require.Len(t, b, 24)
	for n, want := range map[int]int{0: 0, 7: 0, 8: 1, 15: 1, 16: 2, 23: 2, 24: 3} {
		v := kernel.View[uint64](b[:n])
		require.Equal(t, append([]uint64{}, words[:want]...), append([]uint64{}, v...), "%d bytes", n)
	}
	kernel.View[uint64](b)[1] = 7
	require.Equal(t, uint64(7), words[1])
	require.Empty(t, kernel.View[struct{}](b))
	require.Empty(t, kernel.Bytes([]uint64{}))
}

package kernel

// Code names a built-in operator.
type Code uint8

// The operators.
const (
	Sum Code = iota
	Prod
	Min
	Max
	LAnd
	LOr
	LXor
	BAnd
	BOr
	BXor
	codes
)

// Codes is the number of built-in operators.
const Codes = int(codes)

// Func sets dst[i] = op(a[i], b[i]). The three slices have the same length, which is a whole number
// of elements. dst may be the same memory as a or as b, but must not overlap them in any other way.
type Func func(dst, a, b []byte)

// table has the fastest kernels that this processor can run.
var table = func() [codes][kinds]Func {
	t := portable()
	accelerate(&t)
	return t
}()

// Of returns the fastest kernel of an operator for elements of a kind, or nil if the operator is not
// defined for that kind.
func Of(c Code, k Kind) Func { return table[c][k] }

// portable returns the kernels in Go.
func portable() (plain [codes][kinds]Func) {
	integers[int8](&plain, Int8)
	integers[int16](&plain, Int16)
	integers[int32](&plain, Int32)
	integers[int64](&plain, Int64)
	integers[uint8](&plain, Uint8)
	integers[uint16](&plain, Uint16)
	integers[uint32](&plain, Uint32)
	integers[uint64](&plain, Uint64)
	ordered[float32](&plain, Float32)
	ordered[float64](&plain, Float64)
	numbers[complex64](&plain, Complex64)
	numbers[complex128](&plain, Complex128)
	plain[LAnd][Bool], plain[LOr][Bool], plain[LXor][Bool] = landBool, lorBool, lxorBool
	return plain
}

func numbers[T number](t *[codes][kinds]Func, k Kind) {
	t[Sum][k], t[Prod][k] = sum[T], prod[T]
}

func ordered[T real](t *[codes][kinds]Func, k Kind) {
	numbers[T](t, k)
	t[Min][k], t[Max][k] = lesser[T], greater[T]
}

func integers[T integer](t *[codes][kinds]Func, k Kind) {
	ordered[T](t, k)
	t[LAnd][k], t[LOr][k], t[LXor][k] = land[T], lor[T], lxor[T]
	t[BAnd][k], t[BOr][k], t[BXor][k] = band[T], bor[T], bxor[T]
}

package kernel

import "reflect"

// Kind is the arithmetic type of an element. Named types have the kind of their underlying type. int,
// uint and uintptr have the kind of the sized integers of the same width.
type Kind uint8

// The kinds. Other stands for every element type without built-in arithmetic,
// such as structs and arrays.
const (
	Other Kind = iota
	Bool
	Int8
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Float32
	Float64
	Complex64
	Complex128
	kinds
)

// wordBits is 32 or 64, the width of an int.
const wordBits = 32 << (^uint(0) >> 63)

// KindOf returns the kind of T. It allocates nothing. It calls package reflect only for types that are
// not in its switch.
func KindOf[T any]() Kind {
	switch any((*T)(nil)).(type) {
	case *float64:
		return Float64
	case *float32:
		return Float32
	case *int:
		return sized(Int32, Int64)
	case *int64:
		return Int64
	case *int32:
		return Int32
	case *uint64:
		return Uint64
	case *uint8:
		return Uint8
	}
	return kindOf(reflect.TypeFor[T]().Kind())
}

// sized returns narrow if an int has 32 bits on this machine, and wide if it has 64.
func sized(narrow, wide Kind) Kind {
	if wordBits == 32 {
		return narrow
	}
	return wide
}

func kindOf(k reflect.Kind) Kind {
	switch k {
	case reflect.Int:
		return sized(Int32, Int64)
	case reflect.Uint, reflect.Uintptr:
		return sized(Uint32, Uint64)
	default:
		return fixed[k]
	}
}

// fixed has the Kind of each reflect.Kind whose width does not depend on the machine.
var fixed = [reflect.UnsafePointer + 1]Kind{
	reflect.Bool: Bool,
	reflect.Int8: Int8, reflect.Int16: Int16, reflect.Int32: Int32, reflect.Int64: Int64,
	reflect.Uint8: Uint8, reflect.Uint16: Uint16, reflect.Uint32: Uint32, reflect.Uint64: Uint64,
	reflect.Float32: Float32, reflect.Float64: Float64,
	reflect.Complex64: Complex64, reflect.Complex128: Complex128,
}

package collectives

import "cmp"

// Located is a value and where it comes from, such as a rank or the number of a cell: an
// element for MinLoc and MaxLoc.
type Located[T cmp.Ordered] struct {
	Value T
	Index int
}

// MinLoc makes an operator that takes the lesser value with its index, of equal values the
// one with the lower index. A NaN is less than everything, as it is the Min of floats, and
// of several the one with the lowest index is taken. Like what Func returns it is made once
// and used many times. T is a number: strings cannot be sent.
func MinLoc[T cmp.Ordered]() Op {
	return located("MinLoc", minLocOperator, func(a, b Located[T]) bool { return cmp.Less(b.Value, a.Value) })
}

// MaxLoc makes an operator that takes the greater value with its index, of equal values the
// one with the lower index. A NaN is greater than everything, as it is the Max of floats,
// and of several the one with the lowest index is taken. Like what Func returns it is made
// once and used many times. T is a number: strings cannot be sent.
func MaxLoc[T cmp.Ordered]() Op {
	return located("MaxLoc", maxLocOperator, func(a, b Located[T]) bool {
		aNaN, bNaN := a.Value != a.Value, b.Value != b.Value //nolint:gocritic // NaN alone differs from itself
		if aNaN || bNaN {
			return bNaN && !aNaN
		}
		return b.Value > a.Value
	})
}

// The operators of message.Reduction below that of a user's function.
const (
	minLocOperator = 254
	maxLocOperator = 253
)

// located makes the operator that takes b only if better says so, or if neither of a and b
// is better and the index of b is lower.
func located[T cmp.Ordered](name string, operator uint8, better func(a, b Located[T]) bool) Op {
	op := Func(func(a, b Located[T]) Located[T] {
		if better(a, b) || b.Index < a.Index && !better(b, a) {
			return b
		}
		return a
	}, true).(*userOp[Located[T]])
	op.name, op.reduction.Operator = name, operator
	return op
}

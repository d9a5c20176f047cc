package collectives

import "cmp"

// Located is the element type of MinLoc and MaxLoc: a value and its index, such as the rank or the
// number of the cell that the value comes from.
type Located[T cmp.Ordered] struct {
	Value T
	Index int
}

// MinLoc returns an operator whose result is the operand with the lesser value or, if the values are
// equal, the operand with the lower index. A NaN is less than every other value, as in Min of floats.
// If both operands are NaN, the result is the operand with the lower index. Call MinLoc once and use
// its result in many operations, as with Func. T must be a number type, because strings cannot be sent.
func MinLoc[T cmp.Ordered]() Op {
	return located("MinLoc", minLocOperator, func(a, b Located[T]) bool { return cmp.Less(b.Value, a.Value) })
}

// MaxLoc returns an operator whose result is the operand with the greater value or, if the values are
// equal, the operand with the lower index. A NaN is greater than every other value, as in Max of
// floats. If both operands are NaN, the result is the operand with the lower index. Call MaxLoc once
// and use its result in many operations, as with Func. T must be a number type, because strings cannot
// be sent.
func MaxLoc[T cmp.Ordered]() Op {
	return located("MaxLoc", maxLocOperator, func(a, b Located[T]) bool {
		aNaN, bNaN := a.Value != a.Value, b.Value != b.Value //nolint:gocritic // NaN alone differs from itself
		if aNaN || bNaN {
			return bNaN && !aNaN
		}
		return b.Value > a.Value
	})
}

// The values of Operator in message.Reduction for MinLoc, MaxLoc and a Func that does not commute. They
// are less than message.UserOperator.
const (
	minLocOperator  = 254
	maxLocOperator  = 253
	orderedOperator = 252
)

// located returns an operator. better(a, b) reports whether b takes precedence over a. The result is b
// if b takes precedence, or if neither takes precedence and the index of b is lower; otherwise the
// result is a.
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

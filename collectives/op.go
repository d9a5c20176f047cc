package collectives

import (
	"fmt"
	"reflect"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// Op is an operator of a reduction: a Builtin, or a result of Func, MinLoc or MaxLoc. It must be
// associative.
type Op interface {
	// String names the operator.
	String() string
	// Commutative reports whether op(a, b) equals op(b, a).
	Commutative() bool
	op()
}

// Builtin is one of the built-in operators, each of which is defined for several element types.
type Builtin uint8

// The built-in operators. Sum and Prod are defined for all numbers. Min and Max are defined for
// integers and floats. LAnd, LOr and LXor are defined for integers and bools. BAnd, BOr and BXor are
// defined for integers. The logical operators take zero as false and any other number as true; their
// result is 0 or 1. The operators are also defined for types whose underlying type is such a number
// or bool. For arrays and structs use a Func, or MinLoc and MaxLoc.
//
// The results are the same as those of Go's operators and of Go's min and max. Integers wrap around
// modulo 2^bits, without an error. A sum or product of floats that overflows is an infinity. Min and
// Max of floats are NaN if an operand is NaN, and -0 is less than +0. The bits of a result that is NaN
// may differ between processors. The rounding of a product of complex numbers may differ between
// processor architectures, because on some of them Go fuses a multiplication and an addition.
const (
	Sum  = Builtin(kernel.Sum)
	Prod = Builtin(kernel.Prod)
	Min  = Builtin(kernel.Min)
	Max  = Builtin(kernel.Max)
	LAnd = Builtin(kernel.LAnd)
	LOr  = Builtin(kernel.LOr)
	LXor = Builtin(kernel.LXor)
	BAnd = Builtin(kernel.BAnd)
	BOr  = Builtin(kernel.BOr)
	BXor = Builtin(kernel.BXor)
)

// String returns the name of the constant.
func (b Builtin) String() string { return kernel.Code(b).String() }

// Commutative returns true.
func (Builtin) Commutative() bool { return true }

func (Builtin) op() {}

// Func returns an operator that calls fn, which must be associative and must depend only on its
// arguments. If commutative is false, fn(a, b) is called with a from lower ranks than b. All members
// must pass the same function. Each member calls Func itself. Call Func once and use its result in
// many operations. In a nonblocking operation, fn runs on another goroutine or on the one that calls Wait.
func Func[T any](fn func(a, b T) T, commutative bool) Op {
	operator := uint8(message.UserOperator)
	if !commutative {
		operator = orderedOperator // must not match a commutative Func, for which members choose other algorithms
	}
	return &userOp[T]{message.Reduction{
		Fn: func(dst, a, b []byte) {
			d := kernel.View[T](dst)
			x, y := kernel.View[T](a)[:len(d)], kernel.View[T](b)[:len(d)]
			for i := range d {
				d[i] = fn(x[i], y[i])
			}
		},
		Elem:        kernel.SizeOf[T](),
		Commutative: commutative,
		Operator:    operator,
	}, "Func"}
}

type userOp[T any] struct {
	reduction message.Reduction
	name      string
}

func (u *userOp[T]) String() string    { return fmt.Sprintf("%s of %v", u.name, reflect.TypeFor[T]()) }
func (u *userOp[T]) Commutative() bool { return u.reduction.Commutative }
func (u *userOp[T]) op()               {}

// bind returns the reduction of elements of type T by op, or ErrOp if op is not defined for T.
func bind[T any](op Op, kind kernel.Kind) (message.Reduction, error) {
	switch op := op.(type) {
	case Builtin:
		if int(op) < kernel.Codes {
			if fn := kernel.Of(kernel.Code(op), kind); fn != nil {
				return message.Reduction{
					Fn: fn, Elem: kernel.SizeOf[T](), Commutative: true,
					Operator: uint8(op) + 1, Kind: uint8(kind),
				}, nil
			}
		}
	case *userOp[T]:
		return op.reduction, nil
	case nil:
		return message.Reduction{}, fmt.Errorf("%w: no operator for %v", ErrOp, reflect.TypeFor[T]())
	}
	return message.Reduction{}, fmt.Errorf("%w: %v and %v", ErrOp, op, reflect.TypeFor[T]())
}

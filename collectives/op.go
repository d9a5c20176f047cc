package collectives

import (
	"fmt"
	"reflect"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// Op is an operator of a reduction: a Builtin, or what Func returns. It is
// associative.
type Op interface {
	// String names the operator.
	String() string
	// Commutative reports whether op(a, b) equals op(b, a).
	Commutative() bool
	op()
}

// Builtin is an operator on every numeric type it makes sense for.
type Builtin uint8

// The built-in operators. Sum and Prod fit all numbers, Min and Max all but
// complex ones, LAnd, LOr and LXor integers and bools, BAnd, BOr and BXor
// integers. The logical ones take zero as false and give 0 or 1. Types whose
// underlying type is one of these are numbers too; arrays and structs of them take
// a Func, or MinLoc and MaxLoc.
//
// Results are those of Go's operators and of its min and max. Integers wrap around
// modulo 2^bits, without an error. A sum or product of floats that is too large is
// an infinity. Min and Max of floats are NaN if an operand is, and -0 is less than
// +0. Which of several NaNs a result is may differ between processors.
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

// Func makes an operator of fn, which must be associative and depend on nothing
// but its arguments. fn(a, b) is called with a from a lower rank than b unless the
// operator is commutative. Make it once and use it many times: all members pass
// the same function, each its own Op.
func Func[T any](fn func(a, b T) T, commutative bool) Op {
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
		Operator:    message.UserOperator,
	}, "Func"}
}

type userOp[T any] struct {
	reduction message.Reduction
	name      string
}

func (u *userOp[T]) String() string    { return fmt.Sprintf("%s of %v", u.name, reflect.TypeFor[T]()) }
func (u *userOp[T]) Commutative() bool { return u.reduction.Commutative }
func (u *userOp[T]) op()               {}

// bind returns the operator as a reduction of T.
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

package collectives_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

type celsius float64

// reduced runs AllReduce of one element per rank and compares the result with want.
func reduced[T comparable](c *runtime.Comm, op collectives.Op, want T, per ...T) error {
	got := make([]T, 1)
	if err := collectives.AllReduce(c, per[c.Rank():c.Rank()+1], got, op); err != nil {
		return err
	}
	return equal(c, fmt.Sprintf("%v of %T", op, want), got, []T{want})
}

// Each built-in operator gives right results on some of its element types. Together, these are
// types of signed and unsigned integers, of floating-point and complex numbers, and bool (MPICH's
// coll/allred.c).
func TestBuiltinOperators(t *testing.T) {
	world(t, 3, func(c *runtime.Comm) error {
		return errors.Join(
			reduced(c, collectives.Sum, 6, 1, 2, 3),
			reduced[int8](c, collectives.Sum, -126, 127, 1, 2),
			reduced(c, collectives.Sum, celsius(6.5), 1, 2.5, 3),
			reduced(c, collectives.Sum, 3+6i, 1+1i, 1+2i, 1+3i),
			reduced[complex64](c, collectives.Prod, -2, 1i, 2i, 1),
			reduced[uint64](c, collectives.Prod, 24, 2, 3, 4),
			reduced[int16](c, collectives.Min, -5, 3, -5, 4),
			reduced[uint32](c, collectives.Max, 1<<31, 1<<31, 5, 4),
			reduced[float32](c, collectives.Max, 7, -1, 7, 4),
			reduced(c, collectives.Min, math.Inf(-1), 1, math.Inf(-1), 4),
			reduced(c, collectives.LAnd, true, true, true, true),
			reduced(c, collectives.LAnd, 0, 1, 0, 4),
			reduced(c, collectives.LOr, 1, 0, 0, 4),
			reduced(c, collectives.LXor, true, true, true, true),
			reduced[byte](c, collectives.BAnd, 0b100, 0b110, 0b101, 0b100),
			reduced(c, collectives.BOr, 0b111, 0b110, 0b101, 0b100),
			reduced[uintptr](c, collectives.BXor, 0b111, 0b110, 0b101, 0b100),
		)
	})
}

// place is a value and the rank that it comes from.
type place struct {
	Value float64
	Rank  int
}

// largest returns the operand with the larger value or, if the values are equal, the operand of the
// lower rank. smallest does the same for the smaller value.
func largest(a, b place) place {
	if b.Value > a.Value || b.Value == a.Value && b.Rank < a.Rank {
		return b
	}
	return a
}

func smallest(a, b place) place {
	if b.Value < a.Value || b.Value == a.Value && b.Rank < a.Rank {
		return b
	}
	return a
}

// User-defined operators find an extreme and its rank, with any root. If several ranks have the
// extreme, the result has the lowest of these ranks (MPICH's coll/coll12.c).
func TestPlacesOfExtremes(t *testing.T) {
	const n = 300
	value := func(rank, i int) float64 { return float64((rank*5 + i*i) % 4) } // with equal values at several ranks
	for _, size := range []int{1, 2, 3, 5, 8} {
		world(t, size, func(c *runtime.Comm) error {
			places := func(r, n int) []place {
				v := make([]place, n)
				for i := range v {
					v[i] = place{value(r, i), r}
				}
				return v
			}
			for _, choose := range []func(a, b place) place{largest, smallest} {
				op, got := collectives.Func(choose, true), make([]place, n)
				want := fold(size, n, places, choose)
				err := errors.Join(collectives.AllReduce(c, places(c.Rank(), n), got, op), equal(c, "allreduce", got, want))
				for root := range size {
					clear(got)
					err = errors.Join(err, collectives.Reduce(c, places(c.Rank(), n), got, op, root))
					if c.Rank() == root {
						err = errors.Join(err, equal(c, "reduce", got, want))
					}
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// An operator that does not fit the element type is refused before anything is sent. The error names
// the operator and the type.
func TestOperatorThatDoesNotFit(t *testing.T) {
	type point struct{ X, Y float64 }
	world(t, 2, func(c *runtime.Comm) error {
		refused := func(err error, names ...string) error {
			if !errors.Is(err, collectives.ErrOp) {
				return fmt.Errorf("not refused: %w", err)
			}
			for _, n := range names {
				require.ErrorContains(t, err, n)
			}
			return nil
		}
		return errors.Join(
			refused(collectives.AllReduce(c, []float64{1}, []float64{1}, collectives.BAnd), "BAnd", "float64", "allreduce"),
			refused(collectives.Reduce(c, []point{{}}, []point{{}}, collectives.Sum, 0), "Sum", "point", "reduce"),
			refused(collectives.AllReduce(c, []complex64{1}, []complex64{1}, collectives.Max), "Max", "complex64"),
			refused(collectives.AllReduce(c, []int32{1}, []int32{1}, collectives.Func(compose, true)), "Func of collectives_test.affine", "int32"),
			refused(collectives.AllReduce(c, []int32{1}, []int32{1}, nil), "no operator", "int32"),
			refused(waited(collectives.IAllReduce(c, []int{1}, []int{1}, collectives.Builtin(99))), "operator 99", "int"),
			collectives.Barrier(c),
		)
	})
}

// A user-defined operator works on vectors of more than 64 k structs (MPICH's coll/longuser.c and
// coll/uoplong.c), and reports whether it commutes (coll/op_commutative.c).
func TestLongUserOperator(t *testing.T) {
	const n = 70_000
	then := collectives.Func(compose, false)
	require.False(t, then.Commutative())
	for _, size := range []int{2, 3} {
		world(t, size, func(c *runtime.Comm) error {
			got := affines(c.Rank(), n)
			return errors.Join(collectives.AllReduce(c, got, got, then), equal(c, "allreduce", got, fold(size, n, affines, compose)))
		})
	}
}

// AllReduce works with elements that are longer than a segment of shared memory, and with elements
// of an odd size.
func TestLargeElements(t *testing.T) {
	type big [300_001]byte
	last := collectives.Func(func(_, b big) big { return b }, false)
	type odd [3]uint8
	more := collectives.Func(func(a, b odd) odd { return odd{a[0] + b[0], a[1] ^ b[1], b[2]} }, false)
	world(t, 3, func(c *runtime.Comm) error {
		send, recv := make([]big, 2), make([]big, 2)
		send[1][300_000] = byte(c.Rank() + 1)
		if err := collectives.AllReduce(c, send, recv, last); err != nil {
			return err
		}
		if recv[1][300_000] != 3 {
			return errors.New("wrong result of large elements")
		}
		odds := make([]odd, 50_000)
		for i := range odds {
			odds[i] = odd{byte(i), byte(c.Rank()), byte(i * c.Rank())}
		}
		if err := collectives.AllReduce(c, odds, odds, more); err != nil {
			return err
		}
		for i, got := range odds {
			if got != (odd{byte(3 * i), 0 ^ 1 ^ 2, byte(i * 2)}) {
				return fmt.Errorf("wrong result of odd elements at %d", i)
			}
		}
		return nil
	})
}

// All ranks get the same bits of a sum, and each repetition gives the same bits, although rounding
// depends on the order of the operands (MPICH's coll/allred_float.c).
func TestSumsRepeat(t *testing.T) {
	for _, n := range []int{1, 5000} {
		results := make([][]float64, 5)
		world(t, 5, func(c *runtime.Comm) error {
			send, first := make([]float64, n), make([]float64, n)
			for i := range send {
				send[i] = []float64{1e16, 1, -1e16, 1, 1e-3}[(c.Rank()+i)%5]
			}
			for round := range 3 {
				got := make([]float64, n)
				if err := collectives.AllReduce(c, send, got, collectives.Sum); err != nil {
					return err
				}
				if round == 0 {
					first = got
				}
				if err := equal(c, "repeated sum", got, first); err != nil {
					return err
				}
			}
			results[c.Rank()] = first
			return nil
		})
		for _, r := range results {
			require.Equal(t, results[0], r)
		}
	}
}

// String returns the name of an operator or, for an operator that does not exist, its number.
func TestNamesOfOperators(t *testing.T) {
	require.Equal(t, "Sum", collectives.Sum.String())
	require.Equal(t, "BXor", collectives.BXor.String())
	require.True(t, collectives.LXor.Commutative())
	require.Equal(t, "operator 77", collectives.Builtin(77).String())
}

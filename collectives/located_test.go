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

type located = collectives.Located[float64]

// MinLoc and MaxLoc give the extreme and its index, with 1 to 8 ranks and between nodes. If several
// ranks have the extreme, the result has the lowest of their indices (MPICH's coll/opmaxloc.c and
// coll/opminloc.c).
func TestLocations(t *testing.T) {
	const n = 300
	lowest, highest := collectives.MinLoc[float64](), collectives.MaxLoc[float64]()
	value := func(rank, i int) float64 { return float64((rank*5 + i*i) % 4) } // with equal values at several ranks
	for _, size := range []int{1, 2, 3, 5, 8} {
		for _, distant := range []bool{false, true} {
			world(t, size, func(w *runtime.Comm) error {
				c, err := dup(w, distant)
				if err != nil {
					return err
				}
				// Indices decrease with the rank, so that taking the first of equal values in rank
				// order would be wrong.
				mine, least, most := make([]located, n), make([]located, n), make([]located, n)
				for i := range mine {
					mine[i] = located{value(c.Rank(), i), size - c.Rank()}
					for r := size - 1; r >= 0; r-- {
						v := located{value(r, i), size - r}
						if r == size-1 || v.Value < least[i].Value {
							least[i] = v
						}
						if r == size-1 || v.Value > most[i].Value {
							most[i] = v
						}
					}
				}
				got := make([]located, n)
				err = errors.Join(collectives.AllReduce(c, mine, got, lowest), equal(c, "MinLoc", got, least))
				return errors.Join(err, collectives.AllReduce(c, mine, got, highest), equal(c, "MaxLoc", got, most))
			})
		}
	}
}

// If an operand is NaN, it is the extreme. Among several NaNs, equal infinities, or zeros of either
// sign, the operand with the lowest index is the extreme.
func TestLocationsOfNaN(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, k := range []struct {
		values      [3]float64
		least, most int
	}{
		{[3]float64{1, 2, 3}, 0, 2},
		{[3]float64{2, 2, 2}, 0, 0},
		{[3]float64{1, nan, nan}, 1, 1},
		{[3]float64{nan, -inf, inf}, 0, 0},
		{[3]float64{inf, -inf, -inf}, 1, 0},
		{[3]float64{0, math.Copysign(0, -1), 0}, 0, 0},
	} {
		world(t, 3, func(c *runtime.Comm) error {
			got := make([]located, 2)
			one := []located{{k.values[c.Rank()], c.Rank()}}
			err := errors.Join(collectives.AllReduce(c, one, got[:1], collectives.MinLoc[float64]()),
				collectives.AllReduce(c, one, got[1:], collectives.MaxLoc[float64]()))
			if err == nil && (got[0].Index != k.least || got[1].Index != k.most) {
				err = fmt.Errorf("%v: least at %d, most at %d", k.values, got[0].Index, got[1].Index)
			}
			return err
		})
	}
}

// Overflow, infinities, signed zeros and NaN behave as documented, in algorithms for one node and in
// algorithms that use messages.
func TestEdgesOfNumbers(t *testing.T) {
	nan, inf, zero := math.NaN(), math.Inf(1), math.Copysign(0, -1)
	for _, distant := range []bool{false, true} {
		world(t, 2, func(w *runtime.Comm) error {
			c, err := dup(w, distant)
			if err != nil {
				return err
			}
			bits := func(op collectives.Op, a, b, want float64) error {
				got := make([]float64, 1)
				if err := collectives.AllReduce(c, []float64{[]float64{a, b}[c.Rank()]}, got, op); err != nil {
					return err
				}
				if math.IsNaN(want) && math.IsNaN(got[0]) || math.Float64bits(got[0]) == math.Float64bits(want) {
					return nil
				}
				return fmt.Errorf("%v of %v and %v is %v, not %v", op, a, b, got[0], want)
			}
			return errors.Join(
				reduced[int8](c, collectives.Sum, -128, 127, 1),
				reduced[uint8](c, collectives.Sum, 1, 255, 2),
				reduced[int8](c, collectives.Prod, 0, 64, 4),
				reduced[int64](c, collectives.Prod, math.MinInt64, math.MinInt64, -1),
				reduced[uint64](c, collectives.Sum, 0, math.MaxUint64, 1),
				bits(collectives.Sum, math.MaxFloat64, math.MaxFloat64, inf),
				bits(collectives.Prod, math.MaxFloat64, -2, -inf),
				bits(collectives.Sum, inf, -inf, nan),
				bits(collectives.Min, nan, 1, nan), bits(collectives.Min, 1, nan, nan),
				bits(collectives.Max, nan, inf, nan), bits(collectives.Max, inf, nan, nan),
				bits(collectives.Min, 0, zero, zero), bits(collectives.Max, zero, 0, 0),
				reduced(c, collectives.Sum, complex(inf, 2), complex(inf, 1), 1i),
			)
		})
	}
}

// A Func that adds arrays element by element works in a Scan. The texts of MinLoc and MaxLoc contain their
// names, and MaxLoc reports that it commutes.
func TestOperatorsOfArrays(t *testing.T) {
	type vector [3]float32
	plus := collectives.Func(func(a, b vector) vector { return vector{a[0] + b[0], a[1] + b[1], a[2] + b[2]} }, true)
	world(t, 3, func(c *runtime.Comm) error {
		r := float32(c.Rank())
		got := make([]vector, 1)
		return errors.Join(collectives.Scan(c, []vector{{1, r, 2 * r}}, got, plus),
			equal(c, "scan", got, []vector{{r + 1, r * (r + 1) / 2, r * (r + 1)}}))
	})
	require.Equal(t, "MinLoc of collectives.Located[int]", collectives.MinLoc[int]().String())
	require.Equal(t, "MaxLoc of collectives.Located[float64]", collectives.MaxLoc[float64]().String())
	require.True(t, collectives.MaxLoc[int]().Commutative())
}

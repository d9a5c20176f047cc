package row_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bench/internal/npb/row"
)

// sides lists lengths of rows: shorter than a vector, one vector, and several vectors.
var sides = []int{1, 2, 4, 8, 16, 24, 64, 256}

// guard is the number of elements before and after each row. No function may change them.
const guard = 9

// cube has three planes of three rows. Each row has as many points as the field side says.
type cube struct {
	side int
	at   []float64
}

func newCube(random *rand.Rand, side int) cube {
	c := cube{side, numbers(random, 3*3*side)}
	return c
}

// numbers returns n random numbers of very different magnitudes, so that a changed order of
// operations changes the result.
func numbers(random *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Ldexp(random.Float64()-0.5, random.IntN(40))
	}
	return x
}

func (c cube) point(k, j, i int) float64 { return c.at[(k*3+j)*c.side+i] }
func (c cube) row(k, j int) []float64    { return c.at[(k*3+j)*c.side:][:c.side:c.side] }
func (c cube) pair(k, j int) []float64   { return pairOf(c.row(k-1, j), c.row(k+1, j)) }
func guarded(x []float64) (whole, in []float64) {
	whole = make([]float64, len(x)+2*guard)
	for i := range whole {
		whole[i] = math.Pi
	}
	in = whole[guard : guard+len(x) : guard+len(x)]
	copy(in, x)
	return whole, in
}

func pairOf(a, b []float64) []float64 {
	p := make([]float64, len(a))
	row.Pair(p, a, b)
	return p
}

// around returns the sum of the points of a class around a point, and the sum of their absolute values. Class
// 0 is the point itself. The classes 1, 2 and 3 are its neighbors across a face, an edge and a corner. The
// sums of the classes define the operators that the stencils compute.
func (c cube) around(k, j, i, class int) (sum, size float64) {
	for dk := -1; dk <= 1; dk++ {
		for dj := -1; dj <= 1; dj++ {
			for di := -1; di <= 1; di++ {
				if dk*dk+dj*dj+di*di == class {
					sum += c.point(k+dk, j+dj, i+di)
					size += math.Abs(c.point(k+dk, j+dj, i+di))
				}
			}
		}
	}
	return sum, size
}

// stencil describes the row in the middle of the three planes of c.
func (c cube) stencil(above []float64) *row.Stencil {
	return &row.Stencil{
		Below: c.row(1, 0), Here: c.row(1, 1), Above: c.row(1, 2), PairBelow: c.pair(1, 0), PairHere: c.pair(1, 1),
		PairAbove: above, Before: c.row(0, 2), After: c.row(2, 2),
	}
}

// same requires equal bits in the row and in the guards before and after the row.
func same(t *testing.T, want, got []float64) {
	t.Helper()
	for i := range want {
		require.Equal(t, math.Float64bits(want[i]), math.Float64bits(got[i]), "number %d of %d: %g, not %g", i-guard, len(want)-2*guard, got[i], want[i])
	}
}

// TestStencils checks that Residual and Smooth give the sums over the 27 points, and that their
// vector loops and portable loops give the same bits.
func TestStencils(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	w := row.Weights{-8.0 / 3, 1.0 / 6, 1.0 / 12}
	for _, n := range sides {
		c := newCube(random, n+2)
		v := numbers(random, n+2)
		for _, s := range []struct {
			name               string
			function, portable func(out []float64, s *row.Stencil)
			sign               float64
			classes            [3]int
		}{
			{
				"residual", func(out []float64, s *row.Stencil) { row.Residual(out, v, s, &w) },
				func(out []float64, s *row.Stencil) { row.PortableResidual(out, v, s, &w) }, -1,
				[3]int{0, 2, 3},
			},
			{
				"residual in place", func(out []float64, s *row.Stencil) { row.Residual(out, out, s, &w) },
				func(out []float64, s *row.Stencil) { row.PortableResidual(out, out, s, &w) }, -1,
				[3]int{0, 2, 3},
			},
			{
				"smooth", func(out []float64, s *row.Stencil) { row.Smooth(out, s, &w) },
				func(out []float64, s *row.Stencil) { row.PortableSmooth(out, s, &w) }, 1,
				[3]int{0, 1, 2},
			},
		} {
			t.Run(fmt.Sprintf("%s of %d", s.name, n), func(t *testing.T) {
				whole, out := guarded(v)
				aboveWhole, above := guarded(make([]float64, n+2))
				s.function(out, c.stencil(above))
				require.Equal(t, c.pair(1, 2), above)
				wholePortable, outPortable := guarded(v)
				abovePortable, above := guarded(make([]float64, n+2))
				s.portable(outPortable, c.stencil(above))
				same(t, wholePortable, whole)
				same(t, abovePortable, aboveWhole)
				for i := 1; i <= n; i++ {
					want, size := v[i], math.Abs(v[i])
					for q, class := range s.classes {
						sum, most := c.around(1, 1, i, class)
						want += s.sign * w[q] * sum
						size += math.Abs(w[q]) * most
					}
					require.InDelta(t, want, out[i], 1e-14*size)
				}
			})
		}
	}
}

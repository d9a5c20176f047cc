package row_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bench/internal/npb/row"
)

// TestSparse compares the product of a sparse matrix and a vector with a product that is computed element by
// element, and the two kinds of loops with each other. The rows have from 0 to several times eight elements.
func TestSparse(t *testing.T) {
	random := rand.New(rand.NewPCG(15, 16))
	for _, columns := range []int{1, 9, 100} {
		t.Run(fmt.Sprintf("%d columns", columns), func(t *testing.T) {
			a := row.Sparse{Start: []int{0}, Columns: columns}
			for n := range 27 {
				for range n {
					a.Column = append(a.Column, random.Int32N(int32(columns)))
				}
				a.Start = append(a.Start, len(a.Column))
			}
			a.Value = numbers(random, len(a.Column))
			x := numbers(random, columns)
			whole, y := guarded(make([]float64, len(a.Start)-1))
			a.Multiply(y, x)
			wholePortable, portable := guarded(make([]float64, len(y)))
			row.PortableMultiply(portable, a.Start, a.Column, a.Value, x)
			same(t, wholePortable, whole)
			for i, got := range y {
				var want, magnitude float64
				for k := a.Start[i]; k < a.Start[i+1]; k++ {
					product := a.Value[k] * x[a.Column[k]]
					want, magnitude = want+product, magnitude+math.Abs(product)
				}
				require.InDelta(t, want, got, 1e-14*magnitude, "row %d", i)
			}
			require.Panics(t, func() { a.Multiply(y, x[:columns-1]) })
		})
	}
	new(row.Sparse).Multiply(nil, nil)
}

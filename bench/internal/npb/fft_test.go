package npb_test

import (
	"fmt"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bench/internal/npb"
)

// TestTransformEqualsDefinition compares strided transforms and transforms in place with the sum that defines
// the transform. It also compares the inverse of each transform with the input.
func TestTransformEqualsDefinition(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := 8; n <= 512; n *= 2 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			const columns, stride = 16, 19
			x, at := make([]complex128, n*stride), make([]int, n)
			for p := range at {
				at[p] = p * stride
				for q := range columns {
					x[at[p]+q] = complex(random.Float64()-0.5, random.Float64()-0.5)
				}
			}
			input := append([]complex128(nil), x...)
			npb.Transform(n, columns, x, at, false)
			for k := 0; k < n; k += 1 + n/16 {
				for q := range columns {
					var sum complex128
					for p := range n {
						sum += input[at[p]+q] * cmplx.Rect(1, -2*3.14159265358979323846*float64(k*p%n)/float64(n))
					}
					require.InDelta(t, 0, cmplx.Abs(sum-x[at[k]+q]), 1e-11)
				}
			}
			npb.Transform(n, columns, x, at, true)
			for i := range x {
				want := input[i]
				if i%stride < columns {
					want *= complex(float64(n), 0)
				}
				require.InDelta(t, 0, cmplx.Abs(want-x[i]), 1e-10)
			}
		})
	}
}

// TestLinesEqualColumns checks that the transform of rows gives the result of the transform of
// columns.
func TestLinesEqualColumns(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const rows = 8
	for n := 8; n <= 512; n *= 2 {
		x, columns, at := make([]complex128, n*rows), make([]complex128, n*rows), make([]int, n)
		for i := range x {
			x[i] = complex(random.Float64()-0.5, random.Float64()-0.5)
			columns[i%n*rows+i/n] = x[i]
		}
		for p := range at {
			at[p] = p * rows
		}
		for _, inverse := range []bool{false, true} {
			npb.Lines(n, x, inverse)
			npb.Transform(n, rows, columns, at, inverse)
			for i := range x {
				require.Equal(t, columns[i%n*rows+i/n], x[i])
			}
		}
	}
}

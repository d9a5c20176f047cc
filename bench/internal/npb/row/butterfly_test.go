package row_test

import (
	"fmt"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bench/internal/npb/row"
)

// octets returns n groups of row.Octet random numbers.
func octets(random *rand.Rand, n int) []float64 { return numbers(random, n*row.Octet) }

// value returns the complex number in a lane of octet i.
func value(x []float64, i, lane int) complex128 {
	return complex(x[i*row.Octet+lane], x[i*row.Octet+row.Octet/2+lane])
}

// TestButterflies checks that a pass computes the four-point Fourier transforms of its inputs, for each lane
// of each octet. The pass must also multiply the outputs 1 to 3 by the factors of the pass.
func TestButterflies(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for _, tc := range []struct{ count, width int }{{1, 1}, {1, 2}, {2, 1}, {3, 5}, {64, 1}, {4, 16}} {
		for _, inverse := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d of %d, inverse %v", tc.count, tc.width, inverse), func(t *testing.T) {
				n := tc.count * tc.width
				x, roots := octets(random, 4*n), make([]float64, 6*tc.count)
				for i := range roots {
					roots[i] = 2*random.Float64() - 1
				}
				whole, y := guarded(make([]float64, len(x)))
				row.Butterflies(y, x, roots, tc.width, inverse)

				wholePortable, portable := guarded(make([]float64, len(x)))
				part := [4][]float64{}
				for k := range part {
					part[k] = x[k*n*row.Octet:][:n*row.Octet]
				}
				i := complex(0, -1)
				if inverse {
					i, part[1], part[3] = -i, part[3], part[1]
				}
				row.PortableButterflies(portable, part[0], part[1], part[2], part[3], roots, tc.width*row.Octet)
				same(t, wholePortable, whole)

				for at := range n {
					p, q := at/tc.width, at%tc.width
					for lane := range row.Octet / 2 {
						var size float64
						for m := range 4 {
							size += cmplx.Abs(value(x, m*n+at, lane))
						}
						for k := range 4 {
							var sum complex128
							for m := range 4 {
								sum += cmplx.Pow(i, complex(float64(k*m), 0)) * value(x, m*n+at, lane)
							}
							if k > 0 {
								sum *= complex(roots[6*p+2*k-2], roots[6*p+2*k-1])
							}
							require.InDelta(t, 0, cmplx.Abs(sum-value(y, (4*p+k)*tc.width+q, lane)), 1e-14*size)
						}
					}
				}
			})
		}
	}
}

func TestHalves(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	for _, n := range []int{1, 2, 3, 8, 128} {
		x := octets(random, 2*n)
		whole, y := guarded(make([]float64, len(x)))
		row.Halves(y, x)
		wholePortable, portable := guarded(make([]float64, len(x)))
		row.PortableHalves(portable, x)
		same(t, wholePortable, whole)
		for i := range len(x) / 2 {
			a, b := x[i], x[i+len(x)/2]
			require.Equal(t, []float64{a + b, a - b}, []float64{y[i], y[i+len(x)/2]})
		}
	}
}

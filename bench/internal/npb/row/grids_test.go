package row_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bench/internal/npb/row"
)

// TestRestrict checks that Restrict computes the weighted sum of 27 points at every second point.
func TestRestrict(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, n := range sides {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			// Three planes of three rows, with no element after the last row.
			width := 2*n + 2
			plane := 3*width + 4
			fine := numbers(random, 2*plane+3*width)
			whole, out := guarded(make([]float64, n+2))
			row.Restrict(out, fine, plane)
			wholePortable, outPortable := guarded(make([]float64, n+2))
			row.PortableRestrict(outPortable, fine, plane)
			same(t, wholePortable, whole)
			for i := 1; i <= n; i++ {
				var want, size float64
				for k := range 3 {
					for j := range 3 {
						for d := range 3 {
							distance := (k-1)*(k-1) + (j-1)*(j-1) + (d-1)*(d-1)
							v := math.Ldexp(fine[k*plane+j*width+2*i+d-1], -1-distance)
							want += v
							size += math.Abs(v)
						}
					}
				}
				require.InDelta(t, want, out[i], 1e-14*size)
			}
		})
	}
}

// TestProlong checks that Prolong adds, to each fine point, the mean of the coarse points around
// it. A fine point has one, two, four or eight such neighbors.
func TestProlong(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for _, n := range sides {
		r := [4][]float64{numbers(random, n+2), numbers(random, n+2), numbers(random, n+2), numbers(random, n+2)}
		before := numbers(random, 2*n+2)
		for name, at := range map[string][4]int{"on a row": {0, 0, 0, 0}, "between rows": {0, 1, 0, 1}, "between planes": {0, 0, 1, 1}, "between both": {0, 1, 2, 3}} {
			t.Run(fmt.Sprintf("%s of %d", name, n), func(t *testing.T) {
				whole, out := guarded(before)
				row.Prolong(out, r[at[0]], r[at[1]], r[at[2]], r[at[3]])
				wholePortable, outPortable := guarded(before)
				row.PortableProlong(outPortable, r[at[0]], r[at[1]], r[at[2]], r[at[3]])
				same(t, wholePortable, whole)
				for i := 1; i <= 2*n; i++ {
					want, size := before[i], math.Abs(before[i])
					for _, a := range at {
						v := (r[a][i/2] + r[a][i/2+i%2]) / 8
						want += v
						size += math.Abs(r[a][i/2])/8 + math.Abs(r[a][i/2+i%2])/8
					}
					require.InDelta(t, want, out[i], 1e-14*size)
				}
			})
		}
	}
}

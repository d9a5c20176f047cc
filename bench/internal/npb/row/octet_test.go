package row_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bench/internal/npb/row"
)

// complexes returns n random numbers.
func complexes(random *rand.Rand, n int) []complex128 {
	x, parts := make([]complex128, n), numbers(random, 2*n)
	for i := range x {
		x[i] = complex(parts[2*i], parts[2*i+1])
	}
	return x
}

// TestOctets checks that Split reads its blocks at places in any order, and that Join writes to such places.
// It also checks that Damp multiplies the numbers at these places, and that Damp splits the products.
func TestOctets(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 14))
	for _, count := range []int{1, 2, 7, 64} {
		for _, groups := range []int{1, 2, 3} {
			t.Run(fmt.Sprintf("%d places of %d", count, groups), func(t *testing.T) {
				across := groups * row.Octet / 2
				src, at := complexes(random, count*(across+3)), random.Perm(count)
				for p := range at {
					at[p] *= across + 3
				}
				steps, factors := numbers(random, count), numbers(random, across)

				whole, dst := guarded(make([]float64, count*groups*row.Octet))
				row.Split(dst, src, at, groups)
				wholePortable, portable := guarded(make([]float64, len(dst)))
				row.PortableSplit(portable, src, at, groups)
				same(t, wholePortable, whole)
				for p, first := range at {
					for q := range across {
						lane := q % len(row.Lanes)
						from := first + q - lane + row.Lanes[lane]
						require.Equal(t, src[from], value(dst, p*groups+q/len(row.Lanes), lane))
					}
				}

				back, backPortable := make([]complex128, len(src)), make([]complex128, len(src))
				row.Join(back, dst, at, groups)
				row.PortableJoin(backPortable, dst, at, groups)
				require.Equal(t, backPortable, back)
				for i, v := range src {
					if i%(across+3) >= across {
						v = 0 // an element between the places
					}
					require.Equal(t, v, back[i])
				}

				damped := append([]complex128(nil), src...)
				row.Damp(dst, damped, at, steps, factors)
				copy(back, src)
				row.PortableDamp(portable, back, at, steps, factors)
				same(t, wholePortable, whole)
				require.Equal(t, back, damped)
				row.Split(portable, damped, at, groups)
				require.Equal(t, portable, dst)
				for p, first := range at {
					for q := range across {
						lane := q % len(row.Lanes)
						i := first + q - lane + row.Lanes[lane]
						scale := steps[p] * factors[q]
						require.InEpsilon(t, scale*real(src[i]), real(damped[i]), 1e-15)
						require.InEpsilon(t, scale*imag(src[i]), imag(damped[i]), 1e-15)
					}
				}
			})
		}
	}
}

// TestTranspose checks that octets are taken from eight rows and put back unchanged.
func TestTranspose(t *testing.T) {
	random := rand.New(rand.NewPCG(15, 16))
	const rows = row.Octet / 2
	for _, n := range []int{1, 3, 4, 8, 12, 256} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			stride := n + 2
			src := complexes(random, rows*stride)
			whole, dst := guarded(make([]float64, n*row.Octet))
			row.Columns(dst, src, stride)
			wholePortable, portable := guarded(make([]float64, len(dst)))
			row.PortableColumns(portable, src, stride)
			same(t, wholePortable, whole)
			for p := range n {
				for q := range rows {
					require.Equal(t, src[q*stride+p], value(dst, p, q))
				}
			}
			for name, function := range map[string]func([]complex128, []float64, int){"rows": row.Rows, "portable": row.PortableRows} {
				back := make([]complex128, len(src))
				function(back, dst, stride)
				for i, v := range src {
					if i%stride >= n {
						v = 0
					}
					require.Equal(t, v, back[i], name)
				}
			}
		})
	}
}

// TestBounds checks that too short memory is refused before anything is read or written beyond
// its end.
func TestBounds(t *testing.T) {
	x := make([]float64, 4*row.Octet)
	z := make([]complex128, 31)
	for name, function := range map[string]func(){
		"butterflies": func() { row.Butterflies(x[1:], x, make([]float64, 6), 1, false) },
		"halves":      func() { row.Halves(x[:row.Octet:row.Octet], x) },
		"split":       func() { row.Split(x, z, []int{0, 24}, 1) },
		"join":        func() { row.Join(z, x, []int{0, 24}, 1) },
		"damp":        func() { row.Damp(x, z, []int{0, 24}, x, x[:8]) },
		"columns":     func() { row.Columns(x, z, 4) },
		"rows":        func() { row.Rows(z, x, 4) },
		"residual":    func() { row.Residual(x[:10], x[:9:9], new(row.Stencil), new(row.Weights)) },
		"smooth":      func() { row.Smooth(x[:10], &row.Stencil{Below: x[:9:9]}, new(row.Weights)) },
		"restrict":    func() { row.Restrict(x[:10], x, 54) },
		"prolong":     func() { row.Prolong(x[:17:17], x[:10], x[:10], x[:10], x[:10]) },
	} {
		require.Panics(t, function, name)
	}
}

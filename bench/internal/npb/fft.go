package npb

import (
	"math"

	"github.com/gorun-hpc/gorun/bench/internal/npb/row"
)

// lanes is the number of transforms in an octet (row.Octet): one complex value of each.
const lanes = row.Octet / 2

// transform computes unscaled complex Fourier transforms of length n, a power of two of at least 8. It uses
// Stockham's algorithm in passes of radix 4 and, if log2(n) is odd, a last pass of radix 2. It computes
// groups*lanes transforms at once. The values of these transforms are interleaved, so that the loops read
// whole cache lines. All transforms use the same roots of unity.
type transform struct {
	n, groups         int         // groups is the number of octets per point
	forward, backward [][]float64 // the roots of unity of each pass
	a, b              []float64   // input and output of a pass
}

func newTransform(n, groups int) *transform {
	size := n * groups * row.Octet
	f := &transform{n: n, groups: groups, a: make([]float64, size), b: make([]float64, size)}
	for part := n; part >= 4; part /= 4 {
		f.forward = append(f.forward, roots(part, -1))
		f.backward = append(f.backward, roots(part, 1))
	}
	return f
}

// roots returns the real and imaginary parts of exp(sign 2 pi i k p/n), for each p below n/4 and each k from
// 1 to 3.
func roots(n int, sign float64) []float64 {
	w := make([]float64, 0, n/4*6)
	for p := range n / 4 {
		for k := 1; k <= 3; k++ {
			sin, cos := math.Sincos(2 * math.Pi * float64(k*p) / float64(n))
			w = append(w, cos, sign*sin)
		}
	}
	return w
}

// run transforms the values in a and returns the buffer with the results, a or b.
func (f *transform) run(inverse bool) []float64 {
	passes := f.forward
	if inverse {
		passes = f.backward
	}
	x, y := f.a, f.b
	n, width := f.n, f.groups
	for _, w := range passes {
		row.Butterflies(y, x, w, width, inverse)
		x, y = y, x
		n, width = n/4, 4*width
	}
	if n == 2 {
		row.Halves(y, x)
		x = y
	}
	return x
}

// turn does groups*lanes transforms. It reads the values of point p at src[from[p]:], and stores the results
// of point p at dst[to[p]:]. dst and src may be the same memory.
func (f *transform) turn(dst []complex128, to []int, src []complex128, from []int, inverse bool) {
	row.Split(f.a, src, from, f.groups)
	row.Join(dst, f.run(inverse), to, f.groups)
}

// lines transforms rows of n values in place. The number of rows is lanes.
func (f *transform) lines(rows []complex128, inverse bool) {
	row.Columns(f.a, rows, f.n)
	row.Rows(rows, f.run(inverse), f.n)
}

package npb

import (
	"math"

	"github.com/gorun-hpc/gorun/bench/internal/npb/row"
)

// lanes is how many transforms an octet has.
const lanes = row.Octet / 2

// transform does unscaled complex Fourier transforms of one length, a power of two of at
// least 8, by Stockham's algorithm in passes of radix 4 and, for odd powers, a last one of radix
// 2. It does groups*lanes of them at once: their values lie beside each other, so that
// loops over them read whole cache lines and share the roots.
type transform struct {
	n, groups         int
	forward, backward [][]float64 // the roots of each pass
	a, b              []float64   // octets between passes, groups of them for each point
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

// roots returns exp(sign 2 pi i k p/n) for k of 1, 2 and 3 and each p below n/4.
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

// run transforms the values in a and returns the buffer that has the results.
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

// turn transforms the values at src[from[p]:], groups*lanes of them for every point p, and stores them
// at dst[to[p]:]. Both may be the same.
func (f *transform) turn(dst []complex128, to []int, src []complex128, from []int, inverse bool) {
	row.Split(f.a, src, from, f.groups)
	row.Join(dst, f.run(inverse), to, f.groups)
}

// lines transforms lanes rows of n values in place.
func (f *transform) lines(rows []complex128, inverse bool) {
	row.Columns(f.a, rows, f.n)
	row.Rows(rows, f.run(inverse), f.n)
}

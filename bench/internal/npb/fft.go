package npb

import "math"

// lanes is how many transforms are done at once: their values lie beside each other, so
// that loops over them read whole cache lines and share the roots.
const lanes = 8

// transform does lanes unscaled complex Fourier transforms of one length, a power of two
// of at least 8, by Stockham's algorithm in passes of radix 4 and, for odd powers, a last one
// of radix 2 (Van Loan, Computational Frameworks for the Fast Fourier Transform, 1992).
type transform struct {
	n        int
	forward  []complex128 // exp(-2 pi i k/n)
	backward []complex128
	a, b     []complex128 // values between passes, point after point
	packed   []int        // where the points of a and b are
}

func newTransform(n int) *transform {
	f := &transform{
		n: n, forward: make([]complex128, n), backward: make([]complex128, n),
		a: make([]complex128, n*lanes), b: make([]complex128, n*lanes), packed: make([]int, n),
	}
	for k := range n {
		sin, cos := math.Sincos(2 * math.Pi * float64(k) / float64(n))
		f.forward[k], f.backward[k] = complex(cos, -sin), complex(cos, sin)
		f.packed[k] = k * lanes
	}
	return f
}

// run transforms the values at src[from[p]:][:lanes], for every point p, and stores them at
// dst[to[p]:]. Both may be the same, and src may be f.a.
func (f *transform) run(dst []complex128, to []int, src []complex128, from []int, inverse bool) {
	roots := f.forward
	if inverse {
		roots = f.backward
	}
	quarter := f.n / 4
	for p := range quarter {
		x0, x1 := src[from[p]:][:lanes], src[from[p+quarter]:][:lanes]
		x2, x3 := src[from[p+2*quarter]:][:lanes], src[from[p+3*quarter]:][:lanes]
		if inverse {
			x1, x3 = x3, x1
		}
		y := f.b[4*p*lanes:][:4*lanes]
		radix4(y, lanes, x0, x1, x2, x3, roots[p], roots[2*p], roots[3*p])
	}
	x, y := f.b, f.a
	n, step, width := quarter, 4, 4*lanes
	for ; n > 4; n /= 4 {
		quarter = n / 4
		for p := range quarter {
			x0, x1 := x[p*width:][:width], x[(p+quarter)*width:][:width]
			x2, x3 := x[(p+2*quarter)*width:][:width], x[(p+3*quarter)*width:][:width]
			if inverse {
				x1, x3 = x3, x1
			}
			radix4(y[4*p*width:][:4*width], width, x0, x1, x2, x3, roots[p*step], roots[2*p*step], roots[3*p*step])
		}
		x, y = y, x
		step, width = 4*step, 4*width
	}
	f.finish(dst, to, x, n, inverse)
}

// finish is the last pass, of radix n, which needs no roots.
func (f *transform) finish(dst []complex128, to []int, x []complex128, n int, inverse bool) {
	part := f.n / n
	if n == 2 {
		for p := range part {
			x0, x1 := x[p*lanes:][:lanes], x[(p+part)*lanes:][:lanes]
			y0, y1 := dst[to[p]:][:lanes], dst[to[p+part]:][:lanes]
			for q := range x0 {
				y0[q], y1[q] = x0[q]+x1[q], x0[q]-x1[q]
			}
		}
		return
	}
	for p := range part {
		x0, x1 := x[p*lanes:][:lanes], x[(p+part)*lanes:][:lanes]
		x2, x3 := x[(p+2*part)*lanes:][:lanes], x[(p+3*part)*lanes:][:lanes]
		if inverse {
			x1, x3 = x3, x1
		}
		y0, y1 := dst[to[p]:][:lanes], dst[to[p+part]:][:lanes]
		y2, y3 := dst[to[p+2*part]:][:lanes], dst[to[p+3*part]:][:lanes]
		for q := range x0 {
			a, b, c, d := x0[q], x1[q], x2[q], x3[q] // dst may be where x is
			even, odd := a+c, b+d
			y0[q], y2[q] = even+odd, even-odd
			even, odd = a-c, b-d
			y1[q] = complex(real(even)+imag(odd), imag(even)-real(odd))
			y3[q] = complex(real(even)-imag(odd), imag(even)+real(odd))
		}
	}
}

// radix4 does one butterfly for all values of four rows and stores the results as four rows of
// width values.
func radix4(y []complex128, width int, x0, x1, x2, x3 []complex128, w1, w2, w3 complex128) {
	y0, y1, y2, y3 := y[:width], y[width:2*width], y[2*width:3*width], y[3*width:4*width]
	x1, x2, x3 = x1[:len(x0)], x2[:len(x0)], x3[:len(x0)]
	y0, y1, y2, y3 = y0[:len(x0)], y1[:len(x0)], y2[:len(x0)], y3[:len(x0)]
	for q := range x0 {
		even, odd := x0[q]+x2[q], x1[q]+x3[q]
		y0[q], y2[q] = even+odd, w2*(even-odd)
		even, odd = x0[q]-x2[q], x1[q]-x3[q]
		y1[q] = w1 * complex(real(even)+imag(odd), imag(even)-real(odd))
		y3[q] = w3 * complex(real(even)-imag(odd), imag(even)+real(odd))
	}
}

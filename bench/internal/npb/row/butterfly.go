package row

import "math"

// Octet is the number of float64 values of an octet. An octet is eight complex numbers, each of a different
// transform: first the eight real parts, then the eight imaginary parts. Because of this layout, a product of
// octets needs no shuffles of vector elements.
const Octet = 2 * block

// Butterflies does a pass of radix 4 of Stockham's algorithm from the octets x to the octets y (Van Loan,
// Computational Frameworks for the Fast Fourier Transform, 1992). A group consists of the butterflies with
// the same roots. The argument width is the number of butterflies of each group. A butterfly has four octets.
// For each group, whose root is w, roots contains six numbers: the real and imaginary parts of w, w^2 and w^3.
// For the inverse transform, inverse must be true and roots must contain the conjugate roots.
func Butterflies(y, x, roots []float64, width int, inverse bool) {
	count := len(roots) / 6
	if count == 0 || width <= 0 {
		return
	}
	n := count * width * Octet
	x0, x1, x2, x3 := x[:n], x[n:2*n], x[2*n:3*n], x[3*n:4*n]
	if inverse {
		x1, x3 = x3, x1
	}
	if y = y[:4*n]; wide {
		butterflies8(&y[0], &x0[0], &x1[0], &x2[0], &x3[0], &roots[0], count, width*Octet*8)
		return
	}
	butterflies(y, x0, x1, x2, x3, roots, width*Octet)
}

// butterflies is the portable loop of Butterflies. width is in float64 values.
func butterflies(y, x0, x1, x2, x3, roots []float64, width int) {
	for at := 0; len(roots) >= 6; at += width {
		w := (*[6]float64)(roots)
		y0, y1, y2, y3 := y[4*at:][:width], y[4*at+width:][:width], y[4*at+2*width:][:width], y[4*at+3*width:][:width]
		for q := 0; q < width; q += Octet {
			a, b := (*[Octet]float64)(x0[at+q:]), (*[Octet]float64)(x1[at+q:])
			c, d := (*[Octet]float64)(x2[at+q:]), (*[Octet]float64)(x3[at+q:])
			z0, z1 := (*[Octet]float64)(y0[q:]), (*[Octet]float64)(y1[q:])
			z2, z3 := (*[Octet]float64)(y2[q:]), (*[Octet]float64)(y3[q:])
			for re := range block {
				im := re + block
				evenRe, evenIm, oddRe, oddIm := a[re]+c[re], a[im]+c[im], b[re]+d[re], b[im]+d[im]
				z0[re], z0[im] = evenRe+oddRe, evenIm+oddIm
				z2[re], z2[im] = turn(evenRe-oddRe, evenIm-oddIm, w[2], w[3])
				evenRe, evenIm, oddRe, oddIm = a[re]-c[re], a[im]-c[im], b[re]-d[re], b[im]-d[im]
				z1[re], z1[im] = turn(evenRe+oddIm, evenIm-oddRe, w[0], w[1])
				z3[re], z3[im] = turn(evenRe-oddIm, evenIm+oddRe, w[4], w[5])
			}
		}
		roots = roots[6:]
	}
}

// turn returns the product of two complex numbers.
func turn(re, im, wRe, wIm float64) (r, i float64) {
	return math.FMA(re, wRe, -(im * wIm)), math.FMA(re, wIm, im*wRe)
}

// Halves does the last pass of a transform whose length is not a power of four. The first half of y gets the
// sums of the two halves of x, and the second half of y gets the differences. len(x) must be a multiple of
// [Octet].
func Halves(y, x []float64) {
	if len(x) == 0 {
		return
	}
	if y = y[:len(x)]; wide && len(x)%Octet == 0 {
		halves8(&y[0], &x[0], 8*len(x)/2)
		return
	}
	halves(y, x)
}

// halves is the portable loop of Halves.
func halves(y, x []float64) {
	n := len(x) / 2
	a, b, sums, differences := x[:n], x[n:2*n], y[:n], y[n:2*n]
	for i, v := range a {
		sums[i], differences[i] = v+b[i], v-b[i]
	}
}

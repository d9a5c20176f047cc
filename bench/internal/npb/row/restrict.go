package row

// Restrict sets points 1 to n of out to weighted sums of a finer grid. out has n+2 points. Point i is the
// weighted sum of the 27 points around point 2i of row j of plane k of the finer grid. The centre, the faces,
// the edges and the corners have the weights 1/2, 1/4, 1/8 and 1/16. The slice fine extends from the start of
// row j-1 of plane k-1 to the end of row j+1 of plane k+1. In fine, a row begins 2n+2 points after the
// previous row. The argument plane is the number of points from a plane to the next.
func Restrict(out, fine []float64, plane int) {
	n := len(out) - 2
	width := 2*n + 2
	_ = fine[:2*plane+3*width]
	if wide && n > 0 && n%block == 0 {
		restrict8(&out[0], &fine[0], 8*width, 8*plane, n)
		return
	}
	restrict(out, fine, plane)
}

// restrict is the portable loop of Restrict. sum(i) adds the nine points whose x is i, with the weights that
// apply if i is the x of the centre. At the x before and after the centre, the weights are half as large. All
// weights are powers of two. For this reason, a fused multiply-add has the same result as separate
// operations.
func restrict(out, fine []float64, plane int) {
	n := len(out) - 2
	width := 2*n + 2
	row := func(k, j int) []float64 { return fine[k*plane+j*width:][:width] }
	centre, f0, f1, f2, f3 := row(1, 1), row(1, 0), row(1, 2), row(0, 1), row(2, 1)
	e0, e1, e2, e3 := row(0, 0), row(0, 2), row(2, 0), row(2, 2)
	sum := func(i int) float64 {
		return 0.5*centre[i] + 0.25*(f0[i]+f1[i]+f2[i]+f3[i]) + 0.125*(e0[i]+e1[i]+e2[i]+e3[i])
	}
	left := sum(1)
	for i := 1; i <= n; i++ {
		right := sum(2*i + 1)
		out[i] = sum(2*i) + 0.5*(left+right)
		left = right
	}
}

package row

// Prolong adds the interpolation of a coarser grid to points 1 to 2n of out, which has 2n+2 points. The row
// out lies between the rows a, b, c and d of the coarser grid, which have n+2 points. Each of the four rows
// has the weight 1/4. If out lies on one row of the coarser grid, the caller passes this row four times. If
// out lies between two rows, the caller passes each of them twice.
func Prolong(out, a, b, c, d []float64) {
	n := len(a) - 2
	_, _, _, _ = out[:2*n+2], b[:n+2], c[:n+2], d[:n+2]
	if wide && n > 0 && n%block == 0 {
		prolong8(&out[0], &a[0], &b[0], &c[0], &d[0], n)
		return
	}
	prolong(out, a, b, c, d)
}

// prolong is the portable loop of Prolong. The weights are powers of two. For this reason, a fused
// multiply-add has the same result as separate operations.
func prolong(out, a, b, c, d []float64) {
	b, c, d = b[:len(a)], c[:len(a)], d[:len(a)]
	left := (a[0] + b[0]) + (c[0] + d[0])
	for i := 1; i < len(a)-1; i++ {
		here := (a[i] + b[i]) + (c[i] + d[i])
		pair := out[2*i-1:][:2]
		pair[0] += 0.125 * (left + here)
		pair[1] += 0.25 * here
		left = here
	}
}

package npb

import "math"

// The vector loops of CG. dot keeps four partial sums, and advance keeps two. Both add their partial sums in
// a fixed order. With a single sum, each addition would have to wait for the previous one.

// root returns the n-th root of v.
func root(v float64, n int) float64 { return math.Pow(v, 1/float64(n)) }

// dot returns a.b.
func dot(a, b []float64) float64 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float64
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	b = b[:len(a)]
	for i, v := range a {
		s0 += v * b[i]
	}
	return (s0 + s1) + (s2 + s3)
}

// distance returns |a-b|^2.
func distance(a, b []float64) float64 {
	b = b[:len(a)]
	var sum float64
	for i, v := range a {
		d := v - b[i]
		sum += d * d
	}
	return sum
}

// advance does z += alpha*p and r -= alpha*q and returns r.r.
func advance(z, r, p, q []float64, alpha float64) float64 {
	r, p, q = r[:len(z)], p[:len(z)], q[:len(z)]
	var s0, s1 float64
	i := 0
	for ; i < len(z)-1; i += 2 {
		z[i] += alpha * p[i]
		z[i+1] += alpha * p[i+1]
		r0, r1 := r[i]-alpha*q[i], r[i+1]-alpha*q[i+1]
		r[i], r[i+1] = r0, r1
		s0 += r0 * r0
		s1 += r1 * r1
	}
	if i < len(z) {
		z[i] += alpha * p[i]
		r[i] -= alpha * q[i]
		s0 += r[i] * r[i]
	}
	return s0 + s1
}

// redirect does p = r + beta*p.
func redirect(p, r []float64, beta float64) {
	r = r[:len(p)]
	for i, v := range p {
		p[i] = r[i] + beta*v
	}
}

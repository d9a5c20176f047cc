package npb

// The operators of MG are stencils of 27 points. A row of the sum of two planes, p, is shared by
// the three rows of results that read it; along a row the sums of the points left, here and
// right move through registers.

// smoother holds the coefficients of S: centre, faces, edges. That of the corners is 0.
type smoother struct{ centre, face, edge float64 }

// The operator A: centre, edges, corners. That of the faces is 0.
const (
	mgCentre = -8.0 / 3
	mgEdge   = 1.0 / 6
	mgCorner = 1.0 / 12
)

// sumRows sets p = a + b; p may be a.
func sumRows(p, a, b []float64) {
	a, b = a[:len(p)], b[:len(p)]
	for i := 0; i < len(p)-1; i += 2 {
		p[i], p[i+1] = a[i]+b[i], a[i+1]+b[i+1]
	}
}

// subtract sets plane k of r to v - A*u; r and v may be the same.
func (m *multigrid) subtract(r, v, u grid, k int) {
	n := u.side
	below, here, above := m.rows[0][:n+2], m.rows[1][:n+2], m.rows[2][:n+2]
	sumRows(below, u.row(k-1, 0), u.row(k+1, 0))
	sumRows(here, u.row(k-1, 1), u.row(k+1, 1))
	for j := 1; j <= n; j++ {
		sumRows(above, u.row(k-1, j+1), u.row(k+1, j+1))
		out := r.row(k, j)
		subtractRow(out, v.row(k, j), u.row(k, j-1), u.row(k, j), u.row(k, j+1), below, here, above)
		wrap(out)
		below, here, above = here, above, below
	}
	r.wrapPlane(k)
}

// subtractRow is subtract for one row: um, uc, up are the rows of the plane itself, pm,
// pc, pp the sums of the planes around it.
func subtractRow(r, v, um, uc, up, pm, pc, pp []float64) {
	n := len(r) - 2
	faces0, edges0 := um[0]+up[0]+pc[0], pm[0]+pp[0]
	faces1, edges1 := um[1]+up[1]+pc[1], pm[1]+pp[1]
	r, v, uc = r[1:n+1], v[1:n+1], uc[1:n+1]
	um, up, pm, pc, pp = um[2:], up[2:], pm[2:], pc[2:], pp[2:]
	v, uc, um, up, pm, pc, pp = v[:n], uc[:n], um[:n], up[:n], pm[:n], pc[:n], pp[:n]
	for i := 0; i < len(r)-1; i += 2 { // sides are even
		faces2, edges2 := um[i]+up[i]+pc[i], pm[i]+pp[i]
		r[i] = v[i] - mgCentre*uc[i] - mgEdge*(edges1+faces0+faces2) - mgCorner*(edges0+edges2)
		faces0, edges0 = um[i+1]+up[i+1]+pc[i+1], pm[i+1]+pp[i+1]
		r[i+1] = v[i+1] - mgCentre*uc[i+1] - mgEdge*(edges2+faces1+faces0) - mgCorner*(edges1+edges0)
		faces0, faces1 = faces2, faces0
		edges0, edges1 = edges2, edges0
	}
}

// add does u += S*r for plane k.
func (m *multigrid) add(u, r grid, k int) {
	n := u.side
	below, here, above := m.rows[0][:n+2], m.rows[1][:n+2], m.rows[2][:n+2]
	sumRows(below, r.row(k-1, 0), r.row(k+1, 0))
	sumRows(here, r.row(k-1, 1), r.row(k+1, 1))
	for j := 1; j <= n; j++ {
		sumRows(above, r.row(k-1, j+1), r.row(k+1, j+1))
		out := u.row(k, j)
		m.smoother.addRow(out, r.row(k, j-1), r.row(k, j), r.row(k, j+1), below, here, above)
		wrap(out)
		below, here, above = here, above, below
	}
	u.wrapPlane(k)
}

// addRow is add for one row.
func (s smoother) addRow(u, rm, rc, rp, pm, pc, pp []float64) {
	n := len(u) - 2
	centre, face, edge := s.centre, s.face, s.edge
	faces0, faces1 := rm[0]+rp[0]+pc[0], rm[1]+rp[1]+pc[1]
	edges1, left, middle := pm[1]+pp[1], rc[0], rc[1]
	u, rc = u[1:n+1], rc[2:n+2]
	rm, rp, pm, pc, pp = rm[2:], rp[2:], pm[2:], pc[2:], pp[2:]
	rc, rm, rp, pm, pc, pp = rc[:n], rm[:n], rp[:n], pm[:n], pc[:n], pp[:n]
	for i := 0; i < len(u)-1; i += 2 {
		faces2, edges2, right := rm[i]+rp[i]+pc[i], pm[i]+pp[i], rc[i]
		u[i] += centre*middle + face*(left+right+faces1) + edge*(edges1+faces0+faces2)
		faces0, edges1, left = rm[i+1]+rp[i+1]+pc[i+1], pm[i+1]+pp[i+1], rc[i+1]
		u[i+1] += centre*right + face*(middle+left+faces2) + edge*(edges2+faces1+faces0)
		faces0, faces1 = faces2, faces0
		left, middle = right, left
	}
}

// restrict computes every second point of coarse from the points around it in fine.
func restrict(coarse, fine grid) {
	n := coarse.side
	for k := 1; k <= coarse.planes; k++ {
		for j := 1; j <= n; j++ {
			out := coarse.row(k, j)
			restrictRow(out, fine, 2*k, 2*j)
			wrap(out)
		}
		coarse.wrapPlane(k)
	}
}

// restrictRow computes a row of the coarse grid from rows j-1 to j+1 of planes k-1 to k+1 of
// the fine one.
func restrictRow(out []float64, fine grid, k, j int) {
	n := len(out) - 2
	width := 2*n + 2
	centre := fine.row(k, j)[:width]
	f0, f1, f2, f3 := fine.row(k, j-1)[:width], fine.row(k, j+1)[:width], fine.row(k-1, j)[:width], fine.row(k+1, j)[:width]
	e0, e1 := fine.row(k-1, j-1)[:width], fine.row(k-1, j+1)[:width]
	e2, e3 := fine.row(k+1, j-1)[:width], fine.row(k+1, j+1)[:width]
	faces0, edges0 := f0[1]+f1[1]+f2[1]+f3[1], e0[1]+e1[1]+e2[1]+e3[1]
	left := centre[1]
	for i := 1; i <= n; i++ {
		at := 2 * i
		faces1, edges1 := f0[at]+f1[at]+f2[at]+f3[at], e0[at]+e1[at]+e2[at]+e3[at]
		at++
		faces2, edges2 := f0[at]+f1[at]+f2[at]+f3[at], e0[at]+e1[at]+e2[at]+e3[at]
		right := centre[at]
		out[i] = 0.5*centre[at-1] + 0.25*(left+right+faces1) + 0.125*(faces0+faces2+edges1) + 0.0625*(edges0+edges2)
		faces0, edges0, left = faces2, edges2, right
	}
}

// prolong interpolates: plane k of fine, which may be a neighbours' one, becomes Q*coarse, or
// has that added unless set. first is the plane of coarse at plane 0 of fine.
func (m *multigrid) prolong(fine, coarse grid, k, first int, set bool) {
	sum := m.rows[0][:coarse.side+2]
	for j := 1; j <= fine.side; j++ {
		z, y := first+k/2, j/2
		from := coarse.row(z, y)
		scale := 1.0
		if j%2 == 1 {
			sumRows(sum, from, coarse.row(z, y+1))
			from, scale = sum, 0.5
		}
		if k%2 == 1 {
			sumRows(sum, from, coarse.row(z+1, y))
			if j%2 == 1 {
				sumRows(sum, sum, coarse.row(z+1, y+1))
			}
			from, scale = sum, scale/2
		}
		out := fine.row(k, j)
		if set {
			setRow(out, from, scale)
		} else {
			prolongRow(out, from, scale)
		}
		wrap(out)
	}
	fine.wrapPlane(k)
}

// prolongRow adds scale times the interpolation of from to out.
func prolongRow(out, from []float64, scale float64) {
	half, left := scale/2, from[0]
	out, from = out[1:len(out)-1], from[1:len(from)-1]
	for len(from) >= 2 && len(out) >= 4 {
		middle, right := from[0], from[1]
		out[0] += half * (left + middle)
		out[1] += scale * middle
		out[2] += half * (middle + right)
		out[3] += scale * right
		left = right
		from, out = from[2:], out[4:]
	}
}

// setRow is prolongRow where out was 0.
func setRow(out, from []float64, scale float64) {
	half, left := scale/2, from[0]
	out, from = out[1:len(out)-1], from[1:len(from)-1]
	for len(from) >= 2 && len(out) >= 4 {
		middle, right := from[0], from[1]
		out[0], out[1] = half*(left+middle), scale*middle
		out[2], out[3] = half*(middle+right), scale*right
		left = right
		from, out = from[2:], out[4:]
	}
}

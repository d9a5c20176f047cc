package npb

import "github.com/gorun-hpc/gorun/bench/internal/npb/row"

// The operators of MG are stencils of 27 points. The sum of a row of plane k-1 and the same row of plane k+1
// is computed once, and is then used for three rows of results.

// mgOperator is A: the coefficients of the centre, the edges and the corners. The coefficient of
// the faces is 0.
var mgOperator = row.Weights{-8.0 / 3, 1.0 / 6, 1.0 / 12}

// stencil returns the rows of g that the stencil reads for row 1 of plane k. The result is a part of m, and
// each call of m.next changes it to the next row.
func (m *multigrid) stencil(g grid, k int) *row.Stencil {
	n := g.side + 2
	s := &m.reads
	s.PairBelow, s.PairHere, s.PairAbove = m.rows[0][:n], m.rows[1][:n], m.rows[2][:n]
	row.Pair(s.PairBelow, g.row(k-1, 0), g.row(k+1, 0))
	row.Pair(s.PairHere, g.row(k-1, 1), g.row(k+1, 1))
	m.read(g, k, 1)
	return s
}

// read sets the rows of the stencil for row j of plane k, but not the sums of rows.
func (m *multigrid) read(g grid, k, j int) {
	s := &m.reads
	s.Below, s.Here, s.Above = g.row(k, j-1), g.row(k, j), g.row(k, j+1)
	s.Before, s.After = g.row(k-1, j+1), g.row(k+1, j+1)
}

// next moves the stencil from row j to row j+1.
func (m *multigrid) next(g grid, k, j int) {
	s := &m.reads
	s.PairBelow, s.PairHere, s.PairAbove = s.PairHere, s.PairAbove, s.PairBelow
	m.read(g, k, j+1)
}

// subtract sets plane k of r to v - A*u; r and v may be the same.
func (m *multigrid) subtract(r, v, u grid, k int) {
	s := m.stencil(u, k)
	for j := 1; j <= u.side; j++ {
		out := r.row(k, j)
		row.Residual(out, v.row(k, j), s, &mgOperator)
		wrap(out)
		if j < u.side {
			m.next(u, k, j)
		}
	}
	r.wrapPlane(k)
}

// add does u += S*r for plane k.
func (m *multigrid) add(u, r grid, k int) {
	s := m.stencil(r, k)
	for j := 1; j <= u.side; j++ {
		out := u.row(k, j)
		row.Smooth(out, s, &m.smoother)
		wrap(out)
		if j < u.side {
			m.next(r, k, j)
		}
	}
	u.wrapPlane(k)
}

// restrict computes each point of coarse from the 27 points around it in fine, which has twice
// as many points a side.
func restrict(coarse, fine grid) {
	width := fine.side + 2
	plane := width * width
	for k := 1; k <= coarse.planes; k++ {
		for j := 1; j <= coarse.side; j++ {
			out := coarse.row(k, j)
			row.Restrict(out, fine.at[(2*k-1)*plane+(2*j-1)*width:], plane)
			wrap(out)
		}
		coarse.wrapPlane(k)
	}
}

// prolong adds Q*coarse, the interpolation of coarse, to plane k of fine. k may also be 0 or fine.planes+1,
// which are the numbers of the copies of the neighbours' planes. The argument first is the number of the
// plane of coarse that coincides with plane 0 of fine.
func (m *multigrid) prolong(fine, coarse grid, k, first int) {
	z := first + k/2
	for j := 1; j <= fine.side; j++ {
		out := fine.row(k, j)
		y := j / 2
		row.Prolong(out, coarse.row(z, y), coarse.row(z, y+j%2), coarse.row(z+k%2, y), coarse.row(z+k%2, y+j%2))
		wrap(out)
	}
	fine.wrapPlane(k)
}

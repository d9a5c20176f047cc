package row

// block is the number of points that a vector loop processes at a time. The portable loops process the rows
// of grids whose number of inner points is not a multiple of block.
const block = 8

// Stencil contains the rows that a stencil of 27 points reads for row j of a plane. All rows have
// n+2 points. The first and the last point are copies of the neighbours across the border.
type Stencil struct {
	Below, Here, Above []float64 // rows j-1, j and j+1 of the plane itself
	// PairBelow and PairHere are sums over the planes before and after this plane. PairBelow is the sum of
	// their rows j-1, and PairHere is the sum of their rows j.
	PairBelow, PairHere []float64
	// PairAbove is set to Before+After. Before and After are rows j+1 of the planes before and
	// after.
	PairAbove, Before, After []float64
}

// Weights contains the coefficients of a stencil. For [Residual], they are the coefficients of the centre,
// the edges and the corners. For [Smooth], they are the coefficients of the centre, the faces and the edges.
type Weights [3]float64

// Residual sets points 1 to n of r to v - A*u, where s contains the rows of u. r and v may be the same slice.
// Residual also sets s.PairAbove.
func Residual(r, v []float64, s *Stencil, w *Weights) {
	n := len(r) - 2
	if wide && n > 0 && n%block == 0 {
		s.check(n+2, v)
		residual8(&r[0], &v[0], &s.Below[0], &s.Here[0], &s.Above[0], &s.PairBelow[0], &s.PairHere[0], &s.PairAbove[0],
			&s.Before[0], &s.After[0], &w[0], n)
		return
	}
	residual(r, v, s, w)
}

// check panics if row or a row of s has fewer than n points.
func (s *Stencil) check(n int, row []float64) {
	_, _, _, _, _ = row[:n], s.Below[:n], s.Here[:n], s.Above[:n], s.PairBelow[:n]
	_, _, _, _ = s.PairHere[:n], s.PairAbove[:n], s.Before[:n], s.After[:n]
}

// residual is the portable loop of Residual. Each point needs sums over its own column of the stencil and over
// the columns to the left and to the right. The loop keeps these sums in registers.
func residual(r, v []float64, s *Stencil, w *Weights) {
	n := len(r) - 2
	Pair(s.PairAbove[:n+2], s.Before, s.After)
	um, up, pm, pc, pp := s.Below[:n+2], s.Above[:n+2], s.PairBelow[:n+2], s.PairHere[:n+2], s.PairAbove[:n+2]
	faces0, edges0 := um[0]+up[0]+pc[0], pm[0]+pp[0]
	faces1, edges1 := um[1]+up[1]+pc[1], pm[1]+pp[1]
	um, up, pm, pc, pp = um[2:], up[2:], pm[2:], pc[2:], pp[2:]
	r, v, uc := r[1:n+1], v[1:n+1], s.Here[1:n+1]
	centre, edge, corner := w[0], w[1], w[2]
	for i := range r {
		faces2, edges2 := um[i]+up[i]+pc[i], pm[i]+pp[i]
		r[i] = v[i] - float64(centre*uc[i]) - float64(edge*(edges1+faces0+faces2)) - float64(corner*(edges0+edges2))
		faces0, faces1 = faces1, faces2
		edges0, edges1 = edges1, edges2
	}
}

// Pair sets p = a + b.
func Pair(p, a, b []float64) {
	a, b = a[:len(p)], b[:len(p)]
	for i := range p {
		p[i] = a[i] + b[i]
	}
}

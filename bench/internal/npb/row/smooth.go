package row

// Smooth adds S*r to the points of u, except the first and the last. S is the smoother of MG, a stencil of 27 points
// with the weights w, and s contains the rows of r. Smooth also sets s.PairAbove.
func Smooth(u []float64, s *Stencil, w *Weights) {
	n := len(u) - 2
	if wide && n > 0 && n%block == 0 {
		s.check(n+2, u)
		smooth8(&u[0], &s.Below[0], &s.Here[0], &s.Above[0], &s.PairBelow[0], &s.PairHere[0], &s.PairAbove[0],
			&s.Before[0], &s.After[0], &w[0], n)
		return
	}
	smooth(u, s, w)
}

// smooth is the portable loop of Smooth.
func smooth(u []float64, s *Stencil, w *Weights) {
	n := len(u) - 2
	Pair(s.PairAbove[:n+2], s.Before, s.After)
	rm, rp, pm, pc, pp := s.Below[:n+2], s.Above[:n+2], s.PairBelow[:n+2], s.PairHere[:n+2], s.PairAbove[:n+2]
	faces0, faces1 := rm[0]+rp[0]+pc[0], rm[1]+rp[1]+pc[1]
	edges1, left, middle := pm[1]+pp[1], s.Here[0], s.Here[1]
	rc, rm, rp, pm, pc, pp := s.Here[2:n+2], rm[2:], rp[2:], pm[2:], pc[2:], pp[2:]
	u = u[1 : n+1]
	centre, face, edge := w[0], w[1], w[2]
	for i := range u {
		faces2, edges2, right := rm[i]+rp[i]+pc[i], pm[i]+pp[i], rc[i]
		u[i] += float64(centre*middle) + float64(face*(left+right+faces1)) + float64(edge*(edges1+faces0+faces2))
		faces0, faces1 = faces1, faces2
		edges1, left, middle = edges2, middle, right
	}
}

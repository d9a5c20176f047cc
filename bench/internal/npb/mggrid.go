package npb

import "github.com/gorun-hpc/gorun/runtime"

// Tags of planes on their way to the next and to the previous rank. Of two ranks either is
// both to the other.
const (
	mgUp   = 1
	mgDown = 2
)

// grid is consecutive planes of a periodic cube, with a point more at both ends of each
// axis: the neighbours across the border. x varies fastest.
type grid struct {
	side, planes int
	at           []float64
}

func newGrid(side, planes int) grid {
	return grid{side, planes, make([]float64, (side+2)*(side+2)*(planes+2))}
}

// plane returns plane k; 0 and planes+1 are the neighbours.
func (g grid) plane(k int) []float64 {
	n := (g.side + 2) * (g.side + 2)
	return g.at[k*n : (k+1)*n]
}

// row returns row j of plane k.
func (g grid) row(k, j int) []float64 {
	n := g.side + 2
	first := (k*n + j) * n
	return g.at[first : first+n : first+n]
}

// inner returns the planes without the neighbours.
func (g grid) inner() []float64 {
	n := (g.side + 2) * (g.side + 2)
	return g.at[n : n*(g.planes+1)]
}

// wrap makes a row periodic.
func wrap(row []float64) {
	n := len(row) - 2
	row[0], row[n+1] = row[n], row[1]
}

// wrapPlane makes a plane periodic whose rows are so.
func (g grid) wrapPlane(k int) {
	copy(g.row(k, 0), g.row(k, g.side))
	copy(g.row(k, g.side+1), g.row(k, 1))
}

// halo fetches the planes before and after those of this rank. Within planes the kernels
// have done it.
func (m *multigrid) halo(l *level, g grid) error {
	first, last := g.plane(1), g.plane(g.planes)
	before, after := g.plane(0), g.plane(g.planes+1)
	if l.whole {
		copy(before, last)
		copy(after, first)
		return nil
	}
	if _, err := runtime.SendRecv(m.comm, last, l.up, mgUp, before, l.down, mgUp); err != nil {
		return err
	}
	_, err := runtime.SendRecv(m.comm, first, l.down, mgDown, after, l.up, mgDown)
	return err
}

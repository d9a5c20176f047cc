package npb

import "github.com/gorun-hpc/gorun/runtime"

// Tags of the planes that a rank sends to the next rank (mgUp) and to the previous rank (mgDown). In a job of
// two ranks, each rank is both the next and the previous rank of the other rank. In such a job, the tag
// distinguishes the two messages between the ranks.
const (
	mgUp   = 1
	mgDown = 2
)

// grid contains consecutive planes of a periodic cube. Each axis has one additional point at each end, for
// copies of the neighbours across the border. x varies fastest.
type grid struct {
	side, planes int
	at           []float64
}

func newGrid(side, planes int) grid {
	return grid{side, planes, make([]float64, (side+2)*(side+2)*(planes+2))}
}

// plane returns plane k. Planes 0 and planes+1 are the copies of the neighbouring planes.
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

// inner returns planes 1 to g.planes, without the copies of the neighbouring planes.
func (g grid) inner() []float64 {
	n := (g.side + 2) * (g.side + 2)
	return g.at[n : n*(g.planes+1)]
}

// wrap copies the first and the last inner point of a row to the points across the border, so that
// the row is periodic.
func wrap(row []float64) {
	n := len(row) - 2
	row[0], row[n+1] = row[n], row[1]
}

// wrapPlane makes plane k periodic. The rows of the plane must already be periodic.
func (g grid) wrapPlane(k int) {
	copy(g.row(k, 0), g.row(k, g.side))
	copy(g.row(k, g.side+1), g.row(k, 1))
}

// halo exchanges the border planes with the previous and the next rank, or copies them if this rank has the
// whole cube. The first and the last plane must already be periodic.
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

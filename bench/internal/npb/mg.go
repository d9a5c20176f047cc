package npb

import (
	"fmt"
	"math"

	"github.com/gorun-hpc/gorun/bench/internal/npb/row"
	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

const mgTolerance = 1e-8 // mg.f90

// Coefficients of S, the smoothing operator of MG, for the centre, the faces and the edges. The coefficient
// of the corners is 0.
var (
	mgSmoothS = row.Weights{-3.0 / 8, 1.0 / 32, -1.0 / 64} // classes S, W, A
	mgSmoothB = row.Weights{-3.0 / 17, 1.0 / 33, -1.0 / 61}
)

// mgProblem is a row of the class table of MG: a periodic cube of 2^log2 points a side.
type mgProblem struct {
	log2, iterations int
	smoother         row.Weights
	norm             float64
}

var mgProblems = map[Class]mgProblem{
	"S": {5, 4, mgSmoothS, 0.5307707005734e-04},
	"W": {7, 4, mgSmoothS, 0.6467329375339e-05},
	"A": {8, 4, mgSmoothS, 0.2433365309069e-05},
	"B": {8, 20, mgSmoothB, 0.1800564401355e-05},
}

// MG solves a Poisson equation on a periodic cube by V-cycles of multigrid. Each rank has a slab
// of the cube. The number of ranks must be a power of two and at most half the number of points
// of a side.
func MG(c *runtime.Comm, class Class) (*Report, error) {
	problem, ok := mgProblems[class]
	if !ok {
		return nil, fmt.Errorf("npb: MG has no class %q", class)
	}
	side := 1 << problem.log2
	if err := powerOfTwo("MG", c.Size(), side/2); err != nil {
		return nil, err
	}
	m := newMultigrid(c, problem)
	if err := m.load(); err != nil {
		return nil, err
	}
	// One untimed cycle touches all memory and all connections.
	if err := m.residual(); err != nil {
		return nil, err
	}
	if err := m.cycle(); err != nil {
		return nil, err
	}
	clear(m.top().u.at)
	var norm float64
	took, err := timed(c, func() (err error) {
		norm, err = m.solve()
		return err
	})
	if err != nil {
		return nil, err
	}
	points := math.Pow(float64(side), 3)
	return &Report{
		Kernel: "MG", Class: class, Size: fmt.Sprintf("%dx%dx%d", side, side, side),
		Iterations: problem.iterations, Ranks: c.Size(),
		Time: took, Mops: 58 * float64(problem.iterations) * points / took.Seconds() / 1e6, Operation: "floating point",
		Values: []Value{{"L2 norm", norm, problem.norm, mgTolerance}},
	}, nil
}

// multigrid is a rank's part of the hierarchy of grids: levels[i] has 2^(i+1) points a
// side.
type multigrid struct {
	comm     *runtime.Comm
	smoother row.Weights
	levels   []*level
	v        grid // right-hand side of the equation
	part     grid // this rank's planes of the finest whole level, before the planes of all ranks are gathered
	cycles   int
	rows     [3][]float64 // memory for the sums of rows in a stencil
	reads    row.Stencil
}

// level is one grid of the hierarchy. If a level is whole, every rank computes all of it. A level is whole if it is so
// small that an exchange between ranks would take longer than the computation (see mgWhole), if it has fewer than two
// planes for each rank, or if there is only one rank.
type level struct {
	u, r       grid
	whole      bool
	up, down   int // the ranks that have the next and the previous planes; -1 if this rank has all planes
	firstPlane int // the number of planes before the planes of this rank
}

// mgWhole is a side in points. A level with at most this side is whole for any number of ranks.
const mgWhole = 8

func newMultigrid(c *runtime.Comm, problem mgProblem) *multigrid {
	m := &multigrid{comm: c, smoother: problem.smoother, cycles: problem.iterations}
	size, rank := c.Size(), c.Rank()
	for i := range problem.log2 {
		side := 2 << i
		l := &level{whole: size == 1 || side <= mgWhole || side < 2*size, up: -1, down: -1}
		planes := side
		if !l.whole {
			planes = side / size
			l.up, l.down, l.firstPlane = (rank+1)%size, (rank+size-1)%size, rank*planes
		}
		l.u, l.r = newGrid(side, planes), newGrid(side, planes)
		m.levels = append(m.levels, l)
		if size > 1 && l.whole && side >= size {
			m.part = newGrid(side, side/size)
		}
	}
	m.v = newGrid(m.top().u.side, m.top().u.planes)
	for i := range m.rows {
		m.rows[i] = make([]float64, m.v.side+2)
	}
	return m
}

func (m *multigrid) top() *level { return m.levels[len(m.levels)-1] }

// solve does the timed part and returns the norm of the last residual.
func (m *multigrid) solve() (float64, error) {
	if err := m.residual(); err != nil {
		return 0, err
	}
	if _, err := m.norm(); err != nil {
		return 0, err
	}
	for range m.cycles {
		if err := m.cycle(); err != nil {
			return 0, err
		}
	}
	return m.norm()
}

// residual sets r = v - A*u on the finest level.
func (m *multigrid) residual() error {
	l := m.top()
	for k := 1; k <= l.r.planes; k++ {
		m.subtract(l.r, m.v, l.u, k)
	}
	return m.halo(l, l.r)
}

// cycle does one V-cycle and then computes the residual.
func (m *multigrid) cycle() error {
	for i := len(m.levels) - 1; i > 0; i-- {
		if err := m.restrict(i); err != nil {
			return err
		}
	}
	bottom := m.levels[0]
	clear(bottom.u.at)
	if err := m.smooth(bottom); err != nil {
		return err
	}
	for i := 1; i < len(m.levels); i++ {
		l := m.levels[i]
		m.correct(l, m.levels[i-1])
		if err := m.halo(l, l.r); err != nil {
			return err
		}
		if l == m.top() && l.u.planes >= 4 {
			return m.finish(l)
		}
		if err := m.smooth(l); err != nil {
			return err
		}
	}
	return m.residual()
}

// correct adds the interpolated solution of the coarser level to the solution of l, and computes the
// residual. Unless l is the finest level, its solution is first set to 0. The residual of a plane can be computed
// only after the next plane is corrected.
func (m *multigrid) correct(l, coarse *level) {
	right, top := l.r, l == m.top()
	if top {
		right = m.v
	}
	first := (l.firstPlane - 2*coarse.firstPlane) / 2
	for k := range l.u.planes + 2 {
		if !top {
			clear(l.u.plane(k))
		}
		m.prolong(l.u, coarse.u, k, first)
		if k > 1 {
			m.subtract(l.r, right, l.u, k-1)
		}
	}
}

// smooth does u += S*r on a level.
func (m *multigrid) smooth(l *level) error {
	for k := 1; k <= l.u.planes; k++ {
		m.add(l.u, l.r, k)
	}
	return m.halo(l, l.u)
}

// finish does the work of smooth and residual on the finest level. It first smooths the first and the last
// plane, which the neighbours need. Then it smooths the planes in between. Right after it has smoothed one of
// them, it computes the residual of the plane before it, while both planes are in the cache.
func (m *multigrid) finish(l *level) error {
	last := l.u.planes
	m.add(l.u, l.r, 1)
	m.add(l.u, l.r, last)
	if err := m.halo(l, l.u); err != nil {
		return err
	}
	for k := 2; k < last; k++ {
		m.add(l.u, l.r, k)
		m.subtract(l.r, m.v, l.u, k-1)
	}
	m.subtract(l.r, m.v, l.u, last-1)
	m.subtract(l.r, m.v, l.u, last)
	return m.halo(l, l.r)
}

// restrict computes the residual of level i-1 from the residual of level i.
func (m *multigrid) restrict(i int) error {
	fine, coarse := m.levels[i], m.levels[i-1]
	if fine.whole || !coarse.whole {
		restrict(coarse.r, fine.r)
		return m.halo(coarse, coarse.r)
	}
	restrict(m.part, fine.r)
	if err := collectives.AllGather(m.comm, m.part.inner(), coarse.r.inner()); err != nil {
		return err
	}
	return m.halo(coarse, coarse.r)
}

// norm returns the root of the mean square of the residual.
func (m *multigrid) norm() (float64, error) {
	r := m.top().r
	var sum float64
	for k := 1; k <= r.planes; k++ {
		for j := 1; j <= r.side; j++ {
			points := r.row(k, j)[1 : r.side+1]
			sum += dot(points, points)
		}
	}
	total := make([]float64, 1)
	err := collectives.AllReduce(m.comm, []float64{sum}, total, collectives.Sum)
	return math.Sqrt(total[0] / math.Pow(float64(r.side), 3)), err
}

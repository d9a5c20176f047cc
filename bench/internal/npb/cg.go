package npb

import (
	"fmt"
	"math"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/checkpoint"
)

const (
	cgSteps     = 25    // steps of the conjugate gradient method per outer iteration
	cgTolerance = 1e-10 // tolerance of cg.f90
)

// cgProblem is a row of the class table of CG.
type cgProblem struct {
	n, nonzer, iterations int
	shift, zeta           float64
}

var cgProblems = map[Class]cgProblem{
	"S": {1400, 7, 15, 10, 8.5971775078648},
	"W": {7000, 8, 15, 12, 10.362595087124},
	"A": {14000, 11, 15, 20, 17.130235054029},
	"B": {75000, 13, 75, 60, 22.712745482631},
}

// CG estimates the smallest eigenvalue of a sparse matrix by inverse iteration. Each iteration solves
// a linear system by 25 steps of the conjugate gradient method. The number of ranks must be a power of
// two.
func CG(c *runtime.Comm, class Class) (*Report, error) { return CGFrom(c, class, nil, nil) }

// CGFrom does the same as CG, and also saves its state in a store after each iteration except the last. If
// the store already has a state, CGFrom continues from that state. After each save, each rank calls the
// function saved with the number of the iteration. If store is not nil, saved must not be nil, either. The
// reported time includes only the iterations that this call has done.
func CGFrom(c *runtime.Comm, class Class, store *checkpoint.Store, saved func(iteration int)) (*Report, error) {
	problem, ok := cgProblems[class]
	if !ok {
		return nil, fmt.Errorf("npb: CG has no class %q", class)
	}
	s, err := newSolver(c, problem)
	if err != nil {
		return nil, err
	}
	// One untimed iteration touches all memory and all connections.
	if _, err := s.iterate(); err != nil {
		return nil, err
	}
	s.reset()
	first := 0
	if store != nil {
		if first, _, err = store.Restore(c, checkpoint.Slice(s.x)); err != nil {
			return nil, err
		}
	}
	var zeta float64
	took, err := timed(c, func() (err error) {
		zeta, err = s.solve(first, problem.iterations, store, saved)
		return err
	})
	if err != nil {
		return nil, err
	}
	fill := float64(problem.nonzer * (problem.nonzer + 1))
	operations := 2 * float64((problem.iterations-first)*problem.n) * (3 + fill + cgSteps*(5+fill) + 3)
	return &Report{
		Kernel: "CG", Class: class, Size: fmt.Sprint(problem.n), Iterations: problem.iterations, Ranks: c.Size(),
		Time: took, Mops: operations / took.Seconds() / 1e6, Operation: "floating point",
		Values: []Value{{"zeta", zeta, problem.zeta, cgTolerance}},
	}, nil
}

// solve does the outer iterations first+1 to last. At the call, s has the state after iteration first.
func (s *solver) solve(first, last int, store *checkpoint.Store, saved func(iteration int)) (zeta float64, err error) {
	for i := first + 1; i <= last; i++ {
		if zeta, err = s.iterate(); err != nil {
			return 0, err
		}
		if store == nil || i == last {
			continue
		}
		if err := store.Save(s.comm, i, checkpoint.Slice(s.x)); err != nil {
			return 0, err
		}
		saved(i)
	}
	return zeta, nil
}

// solver is a rank's part of the computation. The fields x, z, p, q and r are this rank's blocks of vectors
// that are distributed by columns of the matrix. The field w is this rank's block of a vector that is
// distributed by rows.
type solver struct {
	comm          *runtime.Comm
	grid          *Grid
	matrix        *Matrix
	shift         float64
	x, z, p, q, r []float64
	w, arrived    []float64
	mine, theirs  [2]float64 // scalars that sum sends and receives
}

func newSolver(c *runtime.Comm, problem cgProblem) (*solver, error) {
	g, err := NewGrid(problem.n, c.Rank(), c.Size())
	if err != nil {
		return nil, err
	}
	cols, rows := g.Block.LastCol-g.Block.FirstCol, g.Block.LastRow-g.Block.FirstRow
	s := &solver{
		comm: c, grid: g, shift: problem.shift,
		matrix: NewMatrix(problem.n, problem.nonzer, problem.shift, g.Block),
		x:      make([]float64, cols), z: make([]float64, cols), p: make([]float64, cols),
		q: make([]float64, cols), r: make([]float64, cols),
		w: make([]float64, rows), arrived: make([]float64, rows),
	}
	s.reset()
	return s, nil
}

func (s *solver) reset() {
	for i := range s.x {
		s.x[i] = 1
	}
}

// iterate does one outer iteration and returns the estimate of zeta.
func (s *solver) iterate() (float64, error) {
	if err := s.conjugateGradient(); err != nil {
		return 0, err
	}
	s.mine = [2]float64{dot(s.x, s.z), dot(s.z, s.z)}
	if err := s.sum(2); err != nil {
		return 0, err
	}
	scale := 1 / math.Sqrt(s.mine[1])
	x := s.x[:len(s.z)]
	for i, z := range s.z {
		x[i] = scale * z
	}
	return s.shift + 1/s.mine[0], nil
}

// conjugateGradient solves A*z = x approximately. As in cg.f90, it also computes the norm of the residual,
// within the measured time.
func (s *solver) conjugateGradient() error {
	clear(s.z)
	copy(s.r, s.x)
	copy(s.p, s.r)
	rho, err := s.total(dot(s.r, s.r))
	if err != nil {
		return err
	}
	for range cgSteps {
		if err := s.multiply(s.p); err != nil {
			return err
		}
		curvature, err := s.total(dot(s.p, s.q))
		if err != nil {
			return err
		}
		previous := rho
		if rho, err = s.total(advance(s.z, s.r, s.p, s.q, previous/curvature)); err != nil {
			return err
		}
		redirect(s.p, s.r, rho/previous)
	}
	if err := s.multiply(s.z); err != nil {
		return err
	}
	if rho, err = s.total(distance(s.x, s.q)); err != nil {
		return err
	}
	if norm := math.Sqrt(rho); math.IsNaN(norm) {
		return fmt.Errorf("npb: the residual of CG is not a number")
	}
	return nil
}

// multiply sets q = A*v, where v and q are distributed by columns. It adds the partial sums of the ranks in
// the row of the grid, and then exchanges the sums with the transpose partner. The tags are the same as in
// cg.f90: the tag of the partial sums is the number of the steps that are left, and the tag of the exchange
// is 1.
func (s *solver) multiply(v []float64) error {
	s.matrix.Multiply(s.w, v)
	for i, step := range s.grid.Steps {
		arrived := s.arrived[:step.Received.Len()]
		tag := len(s.grid.Steps) - i
		send := s.w[step.Send.First:step.Send.Last]
		if _, err := runtime.SendRecv(s.comm, send, step.Peer, tag, arrived, step.Peer, tag); err != nil {
			return err
		}
		sums := s.w[step.Received.First:step.Received.Last]
		for j, a := range arrived {
			sums[j] += a
		}
	}
	if len(s.grid.Steps) == 0 {
		copy(s.q, s.w)
		return nil
	}
	part := s.w[s.grid.Part.First:s.grid.Part.Last]
	_, err := runtime.SendRecv(s.comm, part, s.grid.Transpose, 1, s.q, s.grid.Transpose, 1)
	return err
}

// total returns the sum of a scalar over the ranks in the row of the grid. Each column of the matrix belongs
// to exactly one of these ranks.
func (s *solver) total(mine float64) (float64, error) {
	s.mine[0] = mine
	err := s.sum(1)
	return s.mine[0], err
}

// sum adds the first n scalars of mine over the ranks in the row of the grid, by recursive doubling.
func (s *solver) sum(n int) error {
	for i, peer := range s.grid.Doubling {
		if _, err := runtime.SendRecv(s.comm, s.mine[:n], peer, i+1, s.theirs[:n], peer, i+1); err != nil {
			return err
		}
		for k := range n {
			s.mine[k] += s.theirs[k]
		}
	}
	return nil
}

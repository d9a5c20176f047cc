package npb

import "github.com/gorun-hpc/gorun/runtime"

// Constants of the fluid and of the method. gamma is the ratio of specific heats. viscous and
// conducting are the coefficients of viscosity and heat conduction.
const (
	gamma      = 1.4
	pressure   = gamma - 1
	viscous    = 0.1                     // c3*c4 of lu.f90
	conducting = gamma * gamma * viscous // c1*c3*c4*c5
	third      = 4.0 / 3                 // factor of the viscous term of the velocity component along an axis
	fourth     = 0.25                    // coefficient of the dissipation by fourth differences
	relaxation = 1.2
	ghosts     = 2 // number of the neighbour's rows that a rank keeps on each side of its own rows
)

// Message tags. The forward sweep passes on rows with luForth, and the backward sweep with luBack. The method
// halo exchanges the neighbours' rows with luNext and luPrev.
const (
	luForth = 1
	luBack  = 2
	luNext  = 3
	luPrev  = 4
)

// cell holds the conserved quantities at a point: density, momentum, energy.
type cell [5]float64

// state holds the quantities that are computed from a cell for the equations: 1/density, velocity, half of
// the square of the velocity, energy/density, enthalpy (energy flux/momentum) and pressure.
type state struct {
	inverse, vx, vy, vz, half, energy, enthalpy, pressure float64
}

// flow is a rank's part of LU. It has the rows from first to first+rows-1 of every plane, and two rows of the
// neighbour on each side.
type flow struct {
	comm              *runtime.Comm
	want              luProblem
	n, first, rows    int
	previous, next    int // neighbour ranks; -1 at the border
	dt                float64
	t1, t2, t3        float64 // 1/h^2, 1/(2h), 1/h
	initial, u        []cell
	r, force          []cell // r: residual, in a sweep the correction; force: residual of the exact solution
	states            []state
	outgoing, arrived []cell
	diagonal          diagonal
}

func newFlow(c *runtime.Comm, p luProblem) *flow {
	h := 1 / float64(p.n-1)
	f := &flow{comm: c, want: p, n: p.n, dt: p.dt, t1: 1 / (h * h), t2: 1 / (2 * h), t3: 1 / h, previous: c.Rank() - 1, next: c.Rank() + 1}
	if f.next == c.Size() {
		f.next = -1
	}
	first, last := share(p.n, c.Rank(), c.Size())
	f.first, f.rows = first, last-first
	cells := p.n * (f.rows + 2*ghosts) * p.n
	f.u, f.r, f.force, f.initial = make([]cell, cells), make([]cell, cells), make([]cell, cells), make([]cell, cells)
	f.states = make([]state, cells)
	f.outgoing, f.arrived = make([]cell, ghosts*p.n*p.n), make([]cell, ghosts*p.n*p.n)
	f.diagonal = f.newDiagonal()
	f.set(f.u, exact)
	f.describe()
	f.residual()
	copy(f.force, f.r)
	f.set(f.initial, blended)
	return f
}

// at returns the index of the first cell of row j of plane k. Rows are numbered over all
// ranks.
func (f *flow) at(k, j int) int { return (k*(f.rows+2*ghosts) + j - f.first + ghosts) * f.n }

// inner returns the half-open range of this rank's rows that are not on the border.
func (f *flow) inner() (from, to int) {
	return max(f.first, 1), min(f.first+f.rows, f.n-1)
}

// set sets every cell of u, including the cells of the neighbours' rows, to the value at the cell's
// coordinates. The coordinates are from 0 to 1.
func (f *flow) set(u []cell, value func(x, y, z float64) cell) {
	scale := 1 / float64(f.n-1)
	for k := range f.n {
		for j := max(0, f.first-ghosts); j < min(f.n, f.first+f.rows+ghosts); j++ {
			row := u[f.at(k, j):][:f.n]
			for i := range row {
				row[i] = value(float64(i)*scale, float64(j)*scale, float64(k)*scale)
			}
		}
	}
}

// exactTerms are the coefficients of the exact solution, which is a polynomial. The first coefficient is the
// constant. The coefficients of x, y and z follow, then those of their squares, of their cubes and of their
// fourth powers.
var exactTerms = [5][13]float64{
	{2, 0, 0, 4, 5, 3, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3},
	{1, 0, 0, 0, 1, 2, 3, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5},
	{2, 2, 0, 0, 0, 2, 3, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4},
	{2, 2, 0, 0, 0, 2, 3, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3},
	{5, 4, 3, 2, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2},
}

// exact is the exact solution.
func exact(x, y, z float64) cell {
	var c cell
	for m, t := range exactTerms {
		c[m] = t[0] + x*(t[1]+x*(t[4]+x*(t[7]+x*t[10]))) + y*(t[2]+y*(t[5]+y*(t[8]+y*t[11]))) +
			z*(t[3]+z*(t[6]+z*(t[9]+z*t[12])))
	}
	return c
}

// blended is the initial solution. On the border, it is the exact solution. Inside, it is interpolated
// between opposite faces.
func blended(x, y, z float64) cell {
	if x == 0 || x == 1 || y == 0 || y == 1 || z == 0 || z == 1 {
		return exact(x, y, z)
	}
	x0, x1 := exact(0, y, z), exact(1, y, z)
	y0, y1 := exact(x, 0, z), exact(x, 1, z)
	z0, z1 := exact(x, y, 0), exact(x, y, 1)
	var c cell
	for m := range c {
		px, py, pz := (1-x)*x0[m]+x*x1[m], (1-y)*y0[m]+y*y1[m], (1-z)*z0[m]+z*z1[m]
		c[m] = px + py + pz - px*py - py*pz - pz*px + px*py*pz
	}
	return c
}

// start restores the initial solution and computes its residual.
func (f *flow) start() error {
	copy(f.u, f.initial)
	return f.evaluate()
}

// evaluate fetches the neighbours' rows and computes states and residual.
func (f *flow) evaluate() error {
	if err := f.halo(); err != nil {
		return err
	}
	f.describe()
	f.residual()
	from, to := f.inner()
	for k := 1; k < f.n-1; k++ {
		for j := from; j < to; j++ {
			at := f.at(k, j)
			subtractCells(f.r[at:at+f.n], f.force[at:at+f.n])
		}
	}
	return nil
}

func subtractCells(a, b []cell) {
	b = b[:len(a)]
	for i := range a {
		x, y := &a[i], &b[i]
		x[0] -= y[0]
		x[1] -= y[1]
		x[2] -= y[2]
		x[3] -= y[3]
		x[4] -= y[4]
	}
}

// halo exchanges two rows of all planes with both neighbours.
func (f *flow) halo() error {
	last := f.first + f.rows
	if err := f.shift(last-ghosts, f.next, f.first-ghosts, f.previous, luNext); err != nil {
		return err
	}
	return f.shift(f.first, f.previous, last, f.next, luPrev)
}

// shift sends rows j and j+1 of every plane to one neighbour, whose rank is the argument to. It receives, into
// the rows numbered other and other+1 of every plane, two rows of the second neighbour, whose rank is the
// argument from. If to is below 0, shift sends nothing. If from is below 0, it receives nothing.
func (f *flow) shift(j, to, other, from, tag int) error {
	size := ghosts * f.n
	if to >= 0 {
		for k := range f.n {
			copy(f.outgoing[k*size:(k+1)*size], f.u[f.at(k, j):])
		}
	}
	var err error
	switch {
	case to >= 0 && from >= 0:
		_, err = runtime.SendRecv(f.comm, f.outgoing, to, tag, f.arrived, from, tag)
	case to >= 0:
		err = runtime.Send(f.comm, f.outgoing, to, tag)
	case from >= 0:
		_, err = runtime.Recv(f.comm, f.arrived, from, tag)
	}
	if err != nil || from < 0 {
		return err
	}
	for k := range f.n {
		copy(f.u[f.at(k, other):], f.arrived[k*size:(k+1)*size])
	}
	return nil
}

// describe computes the states of the cells of this rank's rows and of one row of each
// neighbour.
func (f *flow) describe() {
	for k := range f.n {
		from, to := f.at(k, max(0, f.first-1)), f.at(k, min(f.n, f.first+f.rows+1))
		u := f.u[from:to]
		states := f.states[from:to][:len(u)]
		for i := range u {
			c, s := &u[i], &states[i]
			inverse := 1 / c[0]
			vx, vy, vz := c[1]*inverse, c[2]*inverse, c[3]*inverse
			q := 0.5 * (c[1]*vx + c[2]*vy + c[3]*vz)
			s.inverse, s.vx, s.vy, s.vz, s.half = inverse, vx, vy, vz, q*inverse
			s.energy, s.enthalpy, s.pressure = c[4]*inverse, (gamma*c[4]-pressure*q)*inverse, pressure*(c[4]-q)
		}
	}
}

package runtime

import (
	"fmt"
	"slices"
)

// grid is a Cartesian grid: pure arithmetic. Ranks are its points in row-major order: the last
// coordinate changes fastest.
type grid struct {
	dims    []int
	periods []bool
}

// newGrid checks and copies its arguments.
func newGrid(dims []int, periods []bool) (*grid, error) {
	if len(dims) != len(periods) {
		return nil, fmt.Errorf("%w: %d dimensions and %d periods", ErrArgument, len(dims), len(periods))
	}
	points := 1
	for _, n := range dims {
		if n <= 0 || points > gridMax/n {
			return nil, fmt.Errorf("%w: a grid of dimensions %v", ErrArgument, dims)
		}
		points *= n
	}
	return &grid{slices.Clone(dims), slices.Clone(periods)}, nil
}

// gridMax bounds the points of a grid, as ranks are 32-bit numbers.
const gridMax = 1<<31 - 1

// points is how many points the grid has; one without dimensions has one.
func (g *grid) points() int {
	n := 1
	for _, d := range g.dims {
		n *= d
	}
	return n
}

// coords writes the coordinates of a rank to at.
func (g *grid) coords(rank int, at []int) {
	for i := len(g.dims) - 1; i >= 0; i-- {
		at[i] = rank % g.dims[i]
		rank /= g.dims[i]
	}
}

// rank is the inverse of coords. Coordinates of periodic dimensions may be any; others are
// ErrArgument outside of the grid.
func (g *grid) rank(at []int) (int, error) {
	if len(at) != len(g.dims) {
		return Undefined, fmt.Errorf("%w: %d coordinates in a grid of %d dimensions", ErrArgument, len(at), len(g.dims))
	}
	rank := 0
	for i, n := range g.dims {
		x := at[i]
		if g.periods[i] {
			x = (x%n + n) % n
		}
		if x < 0 || x >= n {
			return Undefined, fmt.Errorf("%w: coordinate %d of dimension %d, which has %d and no period", ErrArgument, x, i, n)
		}
		rank = rank*n + x
	}
	return rank, nil
}

// step returns the rank that is some steps from another one in a dimension, or ProcNull
// beyond the border.
func (g *grid) step(rank, dim, steps int) int {
	stride, n := 1, g.dims[dim]
	for _, d := range g.dims[dim+1:] {
		stride *= d
	}
	x := rank / stride % n
	switch {
	case g.periods[dim]:
		to := ((x+steps%n)%n + n) % n
		return rank + (to-x)*stride
	case steps < -x || steps >= n-x:
		return ProcNull
	default:
		return rank + steps*stride
	}
}

// neighbors returns those of a rank: of each dimension the previous and the next one.
func (g *grid) neighbors(rank int) []int {
	list := make([]int, 0, 2*len(g.dims))
	for dim := range g.dims {
		list = append(list, g.step(rank, dim, -1), g.step(rank, dim, 1))
	}
	return list
}

// sub returns the grid of the dimensions that are kept, and where a rank is: in the order of
// the grids that this one falls into, and of the points of its own.
func (g *grid) sub(keep []bool, rank int) (part *grid, which, place int) {
	at := make([]int, len(g.dims))
	g.coords(rank, at)
	part = new(grid)
	for i, n := range g.dims {
		if keep[i] {
			part.dims, part.periods = append(part.dims, n), append(part.periods, g.periods[i])
			place = place*n + at[i]
		} else {
			which = which*n + at[i]
		}
	}
	return part, which, place
}

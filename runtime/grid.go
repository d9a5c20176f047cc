package runtime

import (
	"fmt"
	"slices"
)

// grid is a Cartesian grid; its methods send no messages. Ranks are the points of the grid in
// row-major order: the last coordinate changes fastest.
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
			return nil, fmt.Errorf("%w: a grid of dimensions %v: each must be above 0, and their product at most %d", ErrArgument, dims, gridMax)
		}
		points *= n
	}
	return &grid{slices.Clone(dims), slices.Clone(periods)}, nil
}

// gridMax bounds the number of points of a grid, because ranks are 32-bit numbers.
const gridMax = 1<<31 - 1

// points returns the number of points of the grid. A grid without dimensions has one point.
func (g *grid) points() int {
	n := 1
	for _, d := range g.dims {
		n *= d
	}
	return n
}

// coords writes the coordinates of a rank to the slice at.
func (g *grid) coords(rank int, at []int) {
	for i := len(g.dims) - 1; i >= 0; i-- {
		at[i] = rank % g.dims[i]
		rank /= g.dims[i]
	}
}

// rank returns the rank at these coordinates. In a periodic dimension every coordinate is valid; in
// another dimension, the error for a coordinate outside of the grid is ErrArgument.
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
			return Undefined, fmt.Errorf("%w: coordinate %d is outside of dimension %d, which has size %d and is not periodic", ErrArgument, x, i, n)
		}
		rank = rank*n + x
	}
	return rank, nil
}

// step returns the rank that is steps points farther along dimension dim than the argument rank, or ProcNull if there
// is no such point. In a periodic dimension the coordinates wrap around.
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

// neighbors returns the neighbors of a rank: for each dimension the previous and the next rank,
// ProcNull beyond a border.
func (g *grid) neighbors(rank int) []int {
	list := make([]int, 0, 2*len(g.dims))
	for dim := range g.dims {
		list = append(list, g.step(rank, dim, -1), g.step(rank, dim, 1))
	}
	return list
}

// sub splits the grid into smaller grids with only the dimensions that keep marks. The result part is
// the shape of each smaller grid. The second result (which) is the number of the smaller grid that
// contains the point of rank. The third result (place) is the rank of this point in that smaller grid.
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

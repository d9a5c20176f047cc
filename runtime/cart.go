package runtime

import (
	"context"
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/internal/callsite"
)

// Cart is a communicator whose ranks are the points of a grid, in row-major order: the last
// coordinate changes fastest. Its Comm is for messages and collective operations.
type Cart struct {
	*Comm
	grid *grid
}

// CreateCart returns a communicator in form of a grid of these sizes. A rank at the border of
// a dimension that is a period has the rank of the other border as neighbor. All members of c
// call it with the same arguments. The first ranks become points of the grid; those beyond it
// get nil. With reorder, ranks may get other numbers: where that means fewer messages between
// nodes, the ranks of a node are a block of the grid. A grid without dimensions has one point.
//
// Sizes below 1, a grid of more points than ranks, a period too many or too few, and arguments
// that differ between members are ErrArgument.
func (c *Comm) CreateCart(dims []int, periods []bool, reorder bool) (*Cart, error) {
	if err := c.ready(); err != nil {
		return nil, callsite.At(err)
	}
	g, err := newGrid(dims, periods)
	if err != nil {
		return nil, callsite.At(err)
	}
	points := g.points()
	if points > c.size {
		return nil, callsite.At(fmt.Errorf("%w: a grid of %v has %d points, communicator %s has %d ranks", ErrArgument, dims, points, c.core.name, c.size))
	}
	number, nodes, err := c.agreeOn("CreateCart", tagCart, []any{dims, periods, reorder}, uint64(c.core.world.NodeRank()))
	if err != nil {
		return nil, err
	}
	order := identityOrder(points)
	if reorder {
		order = g.place(nodes)
	}
	made := c.arrange(number, ".cart", order, cartTopology{g})
	if made == nil {
		return nil, nil
	}
	return &Cart{made, g}, nil
}

// WithContext returns a view as Comm.WithContext does.
func (t *Cart) WithContext(ctx context.Context) *Cart { return &Cart{t.Comm.WithContext(ctx), t.grid} }

// Dims returns the sizes of the grid, as a new slice.
func (t *Cart) Dims() []int { return slices.Clone(t.grid.dims) }

// Periods says which dimensions are periods, as a new slice.
func (t *Cart) Periods() []bool { return slices.Clone(t.grid.periods) }

// Coords returns the coordinates of a rank, as a new slice. One that is not in the grid is
// ErrRank.
func (t *Cart) Coords(rank int) ([]int, error) {
	if err := t.checkPeer(rank); err != nil {
		return nil, callsite.At(err)
	}
	at := make([]int, len(t.grid.dims))
	t.grid.coords(rank, at)
	return at, nil
}

// CartRank returns the rank at these coordinates. In a dimension that is a period every
// coordinate is valid; others outside of the grid, and a wrong number of them, are
// ErrArgument.
func (t *Cart) CartRank(coords []int) (int, error) {
	rank, err := t.grid.rank(coords)
	if err != nil {
		return rank, callsite.At(err)
	}
	return rank, nil
}

// Shift returns the ranks to exchange messages with so that data move some steps in a
// dimension: this rank receives from source and sends to dest, either of which is ProcNull
// beyond a border. Steps may be negative. A dimension that the grid has not is ErrArgument.
func (t *Cart) Shift(dim, steps int) (source, dest int, err error) {
	if dim < 0 || dim >= len(t.grid.dims) {
		return ProcNull, ProcNull, callsite.At(fmt.Errorf("%w: dimension %d of %d", ErrArgument, dim, len(t.grid.dims)))
	}
	n := t.grid.dims[dim]
	if t.grid.periods[dim] {
		steps %= n
	}
	steps = max(-n, min(n, steps)) // further ones are beyond both borders, too
	return t.grid.step(t.rank, dim, -steps), t.grid.step(t.rank, dim, steps), nil
}

// Sub returns the part of the grid that the rank shares with those whose coordinates in all
// other dimensions than those to keep are equal to its own. It has the dimensions that are
// kept. All members call it with the same argument.
func (t *Cart) Sub(keep []bool) (*Cart, error) {
	if err := t.Err(); err != nil {
		return nil, callsite.At(err)
	}
	if len(keep) != len(t.grid.dims) {
		return nil, callsite.At(fmt.Errorf("%w: Sub of %d dimensions in a grid of %d", ErrArgument, len(keep), len(t.grid.dims)))
	}
	number, _, err := t.agreeOn("Sub", tagCart, keep)
	if err != nil {
		return nil, err
	}
	part, mine, _ := t.grid.sub(keep, t.rank)
	order := make([]int, part.points())
	for rank := range t.size {
		if _, which, place := t.grid.sub(keep, rank); which == mine {
			order[place] = rank
		}
	}
	return &Cart{t.arrange(number, ".sub", order, cartTopology{part}), part}, nil
}

// cartTopology is the topology of a Cart.
type cartTopology struct{ grid *grid }

func (t cartTopology) around(rank int) (sources, dests []int) {
	return t.grid.neighbors(rank), t.grid.neighbors(rank)
}

// order swaps the two neighbors of each dimension: what goes to the next one is what that one
// receives from the previous one.
func (t cartTopology) order() []int {
	order := make([]int, 2*len(t.grid.dims))
	for i := range order {
		order[i] = i ^ 1
	}
	return order
}

// identityOrder is 0 to n-1.
func identityOrder(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

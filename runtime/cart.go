package runtime

import (
	"context"
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/internal/callsite"
)

// Cart is a communicator whose ranks are the points of a grid, in row-major order: the last
// coordinate changes fastest. Its Comm is used for messages and collective operations.
type Cart struct {
	*Comm
	grid *grid
}

// CreateCart returns a communicator whose ranks form a grid of the sizes dims. Dimension i is
// periodic if periods[i] is true: then a rank at one border and the rank at the opposite border are
// neighbors. All members of c call it with the same arguments. If c has more ranks than the grid
// has points, the last ranks get a nil *Cart, on which every method panics. If reorder is true, CreateCart
// compares the order of the ranks in c with some other orders. In some of these, the ranks of each
// node form a block of the grid. CreateCart chooses the order with the fewest pairs of neighbors on different nodes. If
// no other order has fewer of these pairs, the ranks keep their numbers. A grid without dimensions has one point.
//
// The error is ErrArgument if a size is below 1, or if the grid has more points than c has ranks.
// The error is also ErrArgument if dims and periods differ in length, or if arguments differ
// between members.
func (c *Comm) CreateCart(dims []int, periods []bool, reorder bool) (*Cart, error) {
	if err := c.ready(); err != nil {
		return nil, callsite.At(err)
	}
	// The members agree before the arguments are checked: if arguments differ, every member gets an error.
	number, nodes, err := c.agreeOn("CreateCart", tagCart, []any{dims, periods, reorder}, uint64(c.core.world.NodeRank()))
	if number == 0 {
		return nil, err
	}
	g, wrong := newGrid(dims, periods)
	if wrong == nil && g.points() > c.size {
		wrong = fmt.Errorf("%w: a grid of %v has %d points, communicator %s has %d ranks", ErrArgument, dims, g.points(), c.core.name, c.size)
	}
	if wrong != nil {
		c.core.world.comms.release(number)
		if err != nil {
			return nil, c.giveUp("CreateCart", err)
		}
		return nil, callsite.At(wrong)
	}
	points := g.points()
	order := identityOrder(points)
	if reorder {
		order = g.place(nodes)
	}
	made, err := c.made("CreateCart", c.arrange(number, ".cart", order, cartTopology{g}), err)
	if made == nil {
		return nil, err
	}
	return &Cart{made, g}, nil
}

// WithContext returns a view of the Cart, as Comm.WithContext does.
func (t *Cart) WithContext(ctx context.Context) *Cart { return &Cart{t.Comm.WithContext(ctx), t.grid} }

// Dup returns a Cart of the same ranks and the same grid, as Comm.Dup does.
func (t *Cart) Dup() (*Cart, error) {
	made, err := t.Comm.Dup()
	if err != nil {
		return nil, err
	}
	return &Cart{made, t.grid}, nil
}

// Dims returns the sizes of the grid, as a new slice.
func (t *Cart) Dims() []int { return slices.Clone(t.grid.dims) }

// Periods returns which dimensions are periodic, as a new slice.
func (t *Cart) Periods() []bool { return slices.Clone(t.grid.periods) }

// Coords returns the coordinates of a rank, as a new slice. The error is ErrRank if the rank is not
// in the grid.
func (t *Cart) Coords(rank int) ([]int, error) {
	if err := t.checkPeer(rank); err != nil {
		return nil, callsite.At(err)
	}
	at := make([]int, len(t.grid.dims))
	t.grid.coords(rank, at)
	return at, nil
}

// CartRank returns the rank at these coordinates. In a periodic dimension every coordinate is valid.
// The error is ErrArgument if a coordinate of another dimension is outside of the grid, or if the
// number of coordinates is wrong.
func (t *Cart) CartRank(coords []int) (int, error) {
	rank, err := t.grid.rank(coords)
	if err != nil {
		return rank, callsite.At(err)
	}
	return rank, nil
}

// Shift returns the ranks with which this rank exchanges messages if each rank sends its data to the
// rank that is steps points farther along dimension dim. This rank receives from source and sends to
// dest. source or dest is ProcNull if it would lie beyond a border. steps may be negative. The error
// is ErrArgument if the grid has no such dimension.
func (t *Cart) Shift(dim, steps int) (source, dest int, err error) {
	if dim < 0 || dim >= len(t.grid.dims) {
		return ProcNull, ProcNull, callsite.At(fmt.Errorf("%w: dimension %d of %d", ErrArgument, dim, len(t.grid.dims)))
	}
	n := t.grid.dims[dim]
	if t.grid.periods[dim] {
		steps %= n
	}
	steps = max(-n, min(n, steps)) // n steps already lead beyond the border; the limit avoids an overflow
	return t.grid.step(t.rank, dim, -steps), t.grid.step(t.rank, dim, steps), nil
}

// Sub returns a grid with only the dimensions i for which keep[i] is true. Its members are the ranks
// that have the same coordinates as this rank in all other dimensions. All members call it with the
// same argument.
func (t *Cart) Sub(keep []bool) (*Cart, error) {
	if err := t.Err(); err != nil {
		return nil, callsite.At(err)
	}
	number, _, err := t.agreeOn("Sub", tagCart, keep)
	if number == 0 {
		return nil, err
	}
	if len(keep) != len(t.grid.dims) {
		t.core.world.comms.release(number)
		if err != nil {
			return nil, t.giveUp("Sub", err)
		}
		return nil, callsite.At(fmt.Errorf("%w: Sub of %d dimensions in a grid of %d", ErrArgument, len(keep), len(t.grid.dims)))
	}
	part, mine, _ := t.grid.sub(keep, t.rank)
	order := make([]int, part.points())
	for rank := range t.size {
		if _, which, place := t.grid.sub(keep, rank); which == mine {
			order[place] = rank
		}
	}
	made, err := t.made("Sub", t.arrange(number, ".sub", order, cartTopology{part}), err)
	if err != nil {
		return nil, err
	}
	return &Cart{made, part}, nil
}

// cartTopology is the topology of a Cart.
type cartTopology struct{ grid *grid }

func (t cartTopology) around(rank int) (sources, dests []int) {
	return t.grid.neighbors(rank), t.grid.neighbors(rank)
}

// order returns the order for Comm.SendOrder. For each dimension, the dests of Neighbors list the
// previous rank at an even index, followed by the next rank. order swaps the two, so that a rank
// sends first to its next rank. For each dimension, the sources of that next rank list this rank
// first.
func (t cartTopology) order() []int {
	order := make([]int, 2*len(t.grid.dims))
	for i := range order {
		order[i] = i ^ 1
	}
	return order
}

// identityOrder returns the numbers from 0 to n-1.
func identityOrder(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

package runtime_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// grids are dimensions of grids of up to 16 points and 4 dimensions.
var grids = [][]int{{1}, {5}, {2, 3}, {3, 1, 2}, {2, 2, 2}, {4, 4}, {1, 1}, {2, 2, 2, 2}, {3, 1, 2, 2}}

// points returns the coordinates of all points of a grid in row-major order.
func points(dims []int) [][]int {
	list := [][]int{{}}
	for _, n := range dims {
		var next [][]int
		for _, p := range list {
			for x := range n {
				next = append(next, append(slices.Clone(p), x))
			}
		}
		list = next
	}
	return list
}

// eachCart runs a test on all grids with all combinations of periods, or with some of them if there
// are 4 dimensions. One rank is outside each grid.
func eachCart(t *testing.T, test func(cart *runtime.Cart, dims []int, periods []bool)) {
	t.Helper()
	for _, dims := range grids {
		all := points(dims)
		local(t, len(all)+1, func(c *runtime.Comm) {
			for bits := range 1 << len(dims) {
				if bits%5 != 0 && len(dims) == 4 {
					continue
				}
				periods := make([]bool, len(dims))
				for i := range periods {
					periods[i] = bits>>i&1 == 1
				}
				cart, err := c.CreateCart(dims, periods, bits%2 == 0)
				require.NoError(t, err)
				if c.Rank() == len(all) {
					require.Nil(t, cart, "it is beyond the grid")
					continue
				}
				require.Equal(t, len(all), cart.Size())
				test(cart, dims, periods)
				require.NoError(t, cart.Close())
			}
		})
	}
}

// Coords and CartRank are inverse to each other for every rank. CartRank wraps coordinates in periodic
// dimensions. In other dimensions it refuses coordinates outside the grid.
func TestCartCoordinates(t *testing.T) {
	eachCart(t, func(cart *runtime.Cart, dims []int, periods []bool) {
		require.Equal(t, dims, cart.Dims())
		require.Equal(t, periods, cart.Periods())
		for rank, want := range points(dims) {
			got, err := cart.Coords(rank)
			require.NoError(t, err)
			require.Equal(t, want, got)
			for dim, n := range dims { // also coordinates outside the grid
				for _, around := range []int{-n, 0, 5 * n} {
					at := slices.Clone(want)
					at[dim] += around
					back, err := cart.CartRank(at)
					if around == 0 || periods[dim] {
						require.NoError(t, err)
						require.Equal(t, rank, back)
					} else {
						require.ErrorIs(t, err, runtime.ErrArgument)
					}
				}
			}
		}
	})
}

// Shift and Neighbors return the right ranks in the middle and at the borders, with and without
// periods. The steps go in both directions and around the grid more than twice (MPICH's
// topo/cartshift1.c).
func TestCartShift(t *testing.T) {
	eachCart(t, func(cart *runtime.Cart, dims []int, periods []bool) {
		all := points(dims)
		// oracle returns the rank at a distance of some steps in a dimension.
		oracle := func(dim, steps int) int {
			at := slices.Clone(all[cart.Rank()])
			at[dim] += steps
			if periods[dim] {
				at[dim] = ((at[dim] % dims[dim]) + dims[dim]) % dims[dim]
			}
			i := slices.IndexFunc(all, func(p []int) bool { return slices.Equal(p, at) })
			if i < 0 {
				return runtime.ProcNull
			}
			return i
		}
		var around []int
		for dim, n := range dims {
			for steps := -2*n - 1; steps <= 2*n+1; steps++ {
				source, dest, err := cart.Shift(dim, steps)
				require.NoError(t, err)
				require.Equal(t, oracle(dim, -steps), source, "%d steps", steps)
				require.Equal(t, oracle(dim, steps), dest, "%d steps", steps)
			}
			for _, far := range []int{math.MinInt, math.MaxInt} {
				source, dest, err := cart.Shift(dim, far)
				require.NoError(t, err)
				if !periods[dim] {
					require.Equal(t, []int{runtime.ProcNull, runtime.ProcNull}, []int{source, dest})
				}
			}
			around = append(around, oracle(dim, -1), oracle(dim, 1))
		}
		sources, dests, err := cart.Neighbors()
		require.NoError(t, err)
		require.Equal(t, around, sources)
		require.Equal(t, around, dests)
	})
}

// Sub keeps the right dimensions, periods, coordinates and members, for all choices of dimensions
// (MPICH's topo/cartsuball.c).
func TestCartSub(t *testing.T) {
	eachCart(t, func(cart *runtime.Cart, dims []int, periods []bool) {
		mine, err := cart.Coords(cart.Rank())
		require.NoError(t, err)
		for bits := range 1 << len(dims) {
			keep := make([]bool, len(dims))
			wantDims, wantAt, wantPeriods := []int{}, []int{}, []bool{}
			for i := range keep {
				if keep[i] = bits>>i&1 == 1; keep[i] {
					wantDims, wantAt, wantPeriods = append(wantDims, dims[i]), append(wantAt, mine[i]), append(wantPeriods, periods[i])
				}
			}
			part, err := cart.Sub(keep)
			require.NoError(t, err)
			require.ElementsMatch(t, wantDims, part.Dims())
			require.ElementsMatch(t, wantPeriods, part.Periods())
			at, err := part.Coords(part.Rank())
			require.NoError(t, err)
			require.Equal(t, wantAt, at)
			// The members of the grid that Sub returns have the same coordinates in the dimensions
			// that are not kept.
			for rank := range part.Size() {
				of, err := part.Coords(rank)
				require.NoError(t, err)
				full := slices.Clone(mine)
				for i, next := 0, 0; i < len(full); i++ {
					if keep[i] {
						full[i] = of[next]
						next++
					}
				}
				there, err := cart.CartRank(full)
				require.NoError(t, err)
				require.Equal(t, cart.WorldRank(there), part.WorldRank(rank))
			}
			require.NoError(t, part.Close())
		}
	})
}

// A grid without dimensions consists of one rank (MPICH's topo/cartzero.c).
func TestCartWithoutDimensions(t *testing.T) {
	local(t, 3, func(c *runtime.Comm) {
		cart, err := c.CreateCart(nil, nil, false)
		require.NoError(t, err)
		if c.Rank() > 0 {
			require.Nil(t, cart)
			return
		}
		require.Equal(t, 1, cart.Size())
		require.Empty(t, cart.Dims())
		at, err := cart.Coords(0)
		require.NoError(t, err)
		require.Empty(t, at)
		rank, err := cart.CartRank(nil)
		require.NoError(t, err)
		require.Zero(t, rank)
		sub, err := cart.Sub(nil)
		require.NoError(t, err)
		require.Equal(t, 1, sub.Size())
	})
}

// Messages move along each dimension of a grid, also through a view of the Cart.
func TestCartMovesMessages(t *testing.T) {
	overTransports(t, 6, func(c *runtime.Comm) {
		cart, err := c.CreateCart([]int{2, 3}, []bool{false, true}, true)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		view := cart.WithContext(ctx)
		at, err := view.Coords(view.Rank())
		require.NoError(t, err)
		for dim := range 2 {
			source, dest, err := view.Shift(dim, 1)
			require.NoError(t, err)
			got := []int{-1, -1}
			_, err = runtime.SendRecv(view.Comm, at, dest, dim, got, source, dim)
			require.NoError(t, err)
			want := slices.Clone(at)
			want[dim]--
			switch {
			case want[0] < 0:
				want = []int{-1, -1}
			case want[1] < 0:
				want[1] = 2
			}
			require.Equal(t, want, got)
		}
	})
}

// Wrong arguments of Cart functions are refused.
func TestCartArguments(t *testing.T) {
	local(t, 4, func(c *runtime.Comm) {
		cart, err := c.CreateCart([]int{2, 2}, []bool{true, false}, false)
		require.NoError(t, err)
		closed, err := c.Dup()
		require.NoError(t, err)
		require.NoError(t, closed.Close())
		other := []int{4, 1}
		if c.Rank() == 2 {
			other = []int{1, 4}
		}
		for name, check := range map[string]struct {
			err, want error
		}{
			"more points than ranks":    {second(c.CreateCart([]int{5}, []bool{true}, false)), runtime.ErrArgument},
			"an overflow of points":     {second(c.CreateCart([]int{1 << 31, 1 << 31, 4}, make([]bool, 3), false)), runtime.ErrArgument},
			"a size of 0":               {second(c.CreateCart([]int{0, 2}, make([]bool, 2), false)), runtime.ErrArgument},
			"a negative size":           {second(c.CreateCart([]int{-2, -2}, make([]bool, 2), false)), runtime.ErrArgument},
			"a period too few":          {second(c.CreateCart([]int{2, 2}, make([]bool, 1), false)), runtime.ErrArgument},
			"a closed communicator":     {second(closed.CreateCart([]int{2}, make([]bool, 1), false)), runtime.ErrCommClosed},
			"no communicator":           {second((*runtime.Comm)(nil).CreateCart(nil, nil, false)), runtime.ErrComm},
			"coordinates of a low rank": {second(cart.Coords(-1)), runtime.ErrRank},
			"those of a high rank":      {second(cart.Coords(4)), runtime.ErrRank},
			"one coordinate":            {second(cart.CartRank([]int{1})), runtime.ErrArgument},
			"beyond the border":         {second(cart.CartRank([]int{1, 2})), runtime.ErrArgument},
			"a dimension too high":      {third(cart.Shift(2, 1)), runtime.ErrArgument},
			"a negative dimension":      {third(cart.Shift(-1, 1)), runtime.ErrArgument},
			"Sub of one dimension":      {second(cart.Sub([]bool{true})), runtime.ErrArgument},
			"neighbors of none":         {third(c.Neighbors()), runtime.ErrTopology},
			"neighbors of a nil":        {third((*runtime.Comm)(nil).Neighbors()), runtime.ErrComm},
		} {
			require.ErrorIs(t, check.err, check.want, name)
		}
		// Arguments that differ between the members are refused at all of them, and leave the
		// communicator usable.
		require.ErrorIs(t, second(c.CreateCart(other, make([]bool, 2), false)), runtime.ErrArgument)
		require.ErrorIs(t, second(c.CreateCart([]int{2, 2}, make([]bool, 2), c.Rank() == 1)), runtime.ErrArgument)
		require.ErrorIs(t, second(cart.Sub([]bool{true, c.Rank() > 2})), runtime.ErrArgument)
		// Arguments that are wrong only at one member are refused, too.
		require.ErrorIs(t, second(c.CreateCart([]int{2 + c.Rank()/3*3}, make([]bool, 1), false)), runtime.ErrArgument)
		require.ErrorIs(t, second(cart.Sub(make([]bool, 2+c.Rank()/3))), runtime.ErrArgument)
		_, err = c.CreateCart([]int{2, 2}, make([]bool, 2), true)
		require.NoError(t, err)
	})
}

// third returns the last of three results.
func third[A, B any](_ A, _ B, err error) error { return err }

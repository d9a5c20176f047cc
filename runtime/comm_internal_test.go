package runtime

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// member returns true exactly for the members of a communicator. If the communicator is unknown, it
// returns true. One case is a communicator of the first ranks of the World, which stores no table
// of ranks.
func TestCommHasItsMembers(t *testing.T) {
	const worldSize = 5
	for _, ranks := range [][]int{{0}, {0, 1}, {0, 1, 2, 3, 4}, {1}, {1, 0}, {0, 2}, {4, 2, 0}} {
		w := new(World)
		c := newComm(w, 3, "test", ranks, 0)
		for _, view := range []*Comm{c, c.Private()} {
			for world := range worldSize + 1 {
				require.Equal(t, slices.Contains(ranks, world), w.comms.member(view.id, world), "rank %d in %v", world, ranks)
				if i := slices.Index(ranks, world); i >= 0 {
					require.Equal(t, i, view.rankOf(world))
				} else if view.ranks != nil {
					require.Equal(t, Undefined, view.rankOf(world))
				}
			}
			for rank := -1; rank <= worldSize; rank++ {
				want := Undefined
				if rank >= 0 && rank < len(ranks) {
					want = ranks[rank]
				}
				require.Equal(t, want, view.WorldRank(rank))
				require.Equal(t, want == Undefined, view.checkPeer(rank) != nil, "rank %d of %v", rank, ranks)
			}
		}
		require.True(t, w.comms.member(c.id+contextStride, worldSize), "of a communicator that is not known")
	}
}

// An inline handler must not wait. The error of its operation on a view with a context.Context names the context only
// if the context has ended.
func TestErrorOfAViewWhoseContextGoesOn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := newComm(new(World), 3, "test", []int{0}, 0).WithContext(ctx)
	err := &engine.CancelError{Op: "receive", Cause: ErrInline}
	require.EqualError(t, c.reason(err), err.Error())
	cancel()
	require.ErrorIs(t, c.reason(err), context.Canceled)
	require.ErrorIs(t, c.reason(err), ErrInline)
}

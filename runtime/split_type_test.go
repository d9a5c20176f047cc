package runtime_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// SplitType by SharedNode makes a communicator of all ranks of a node, in the order of the keys. So does
// SplitType by SharedNUMA here, because all ranks are in one process. With -transport rdma each rank is a node.
func TestSplitType(t *testing.T) {
	const ranks = 4
	overTransports(t, ranks, func(c *runtime.Comm) {
		for _, what := range []runtime.Sharing{runtime.SharedNode, runtime.SharedNUMA} {
			near, err := c.SplitType(what, -c.Rank())
			require.NoError(t, err)
			want := []int{3, 2, 1, 0}
			if c.World().Nodes() == ranks {
				want = []int{c.Rank()}
			}
			ring(t, near, want)
			require.Equal(t, "world."+what.String(), near.Name())
			shared, err := runtime.NewShared(near, 64)
			require.NoError(t, err, "they share memory")
			require.NoError(t, shared.Close())
			require.NoError(t, near.Close())
		}
	})
}

// A rank can pass Undefined to get no communicator. Invalid or different types are refused at all
// ranks, even if only one rank passes the invalid type.
func TestSplitTypeArguments(t *testing.T) {
	local(t, 3, func(c *runtime.Comm) {
		what := runtime.SharedNode
		if c.Rank() == 1 {
			what = runtime.Undefined
		}
		near, err := c.SplitType(what, 0)
		require.NoError(t, err)
		require.Equal(t, c.Rank() == 1, near == nil)
		if near != nil {
			ring(t, near, []int{0, 2})
		}
		require.ErrorIs(t, second(c.SplitType(7, 0)), runtime.ErrArgument)
		require.ErrorContains(t, second(c.SplitType(-1, 0)), "SplitType by Sharing(-1)")
		require.Equal(t, "Sharing(7)", runtime.Sharing(7).String())
		for _, other := range []runtime.Sharing{runtime.SharedNUMA, 7} {
			if c.Rank() == 1 {
				what = other
			}
			require.ErrorIs(t, second(c.SplitType(what, 0)), runtime.ErrArgument)
		}
		require.NoError(t, c.Err())
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		d, err := c.Dup()
		require.NoError(t, err)
		require.ErrorContains(t, second(d.WithContext(ended).SplitType(runtime.SharedNode, 0)), "SplitType")
	})
}

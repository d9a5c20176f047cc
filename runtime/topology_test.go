package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// A duplicate of a grid or graph has the same topology, and a message space of its own (MPICH's
// topo/topodup.c).
func TestDupKeepsTheTopology(t *testing.T) {
	local(t, 4, func(c *runtime.Comm) {
		same := func(c, dup *runtime.Comm) {
			sources, dests, err := c.Neighbors()
			require.NoError(t, err)
			dupSources, dupDests, err := dup.Neighbors()
			require.NoError(t, err)
			require.Equal(t, [2][]int{sources, dests}, [2][]int{dupSources, dupDests})
			require.Equal(t, c.SendOrder(), dup.SendOrder())
			require.Equal(t, c.Group(), dup.Group())
			require.NoError(t, runtime.Send(c, []int{1}, c.Rank(), 0))
			_, found, err := runtime.Iprobe(dup, c.Rank(), 0)
			require.NoError(t, err)
			require.False(t, found)
			plain, err := dup.Dup() // Comm.Dup, which also keeps the topology
			require.NoError(t, err)
			_, dupDests, err = plain.Neighbors()
			require.NoError(t, err)
			require.Equal(t, dests, dupDests)
		}
		cart, err := c.CreateCart([]int{3, 1}, []bool{true, false}, true)
		require.NoError(t, err)
		if cart != nil {
			dup, err := cart.Dup()
			require.NoError(t, err)
			require.Equal(t, cart.Dims(), dup.Dims())
			require.Equal(t, cart.Periods(), dup.Periods())
			same(cart.Comm, dup.Comm)
		}
		graph, err := c.CreateGraphAdjacent([]int{(c.Rank() + 3) % 4}, []int{c.Rank()}, []int{(c.Rank() + 1) % 4}, []int{c.Rank()}, false)
		require.NoError(t, err)
		dup, err := graph.Dup()
		require.NoError(t, err)
		sources, dests := dup.Weights()
		require.Equal(t, [2][]int{{c.Rank()}, {c.Rank()}}, [2][]int{sources, dests})
		same(graph.Comm, dup.Comm)
	})
}

package placement_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

// Tree returns the parent of each agent. No host has more children than the radix, each parent precedes its
// children, and the depth of the tree is the least possible.
func TestTree(t *testing.T) {
	require.Equal(t, []int{-1, 0, 0, -1, 3, 3}, placement.Tree(6, 2))
	require.Equal(t, []int{-1, -1, -1}, placement.Tree(3, 4))
	require.Equal(t, []int{-1, 0, 1}, placement.Tree(3, 1))
	require.Empty(t, placement.Tree(0, 3))
	for _, c := range []struct{ n, radix, depth int }{{32, 32, 1}, {33, 32, 2}, {64, 32, 2}, {1056, 32, 2}, {1057, 32, 3}, {33824, 32, 3}, {100, 2, 6}} {
		parents := placement.Tree(c.n, c.radix)
		children, depth := make([]int, c.n+1), make([]int, c.n)
		deepest := 0
		for i, p := range parents {
			require.Less(t, p, i, "started before it starts others")
			children[p+1]++
			require.LessOrEqual(t, children[p+1], c.radix)
			depth[i] = 1
			if p >= 0 {
				depth[i] = depth[p] + 1
			}
			deepest = max(deepest, depth[i])
		}
		require.Equal(t, c.depth, deepest, "%+v", c)
	}
}

package node_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// TestTrail checks that sequences of calls that differ in a call, in their order or in their number have different
// fingerprints.
func TestTrail(t *testing.T) {
	a, b, longer := node.Call{What: 1, Bytes: 8}, node.Call{What: 2, Bytes: 8}, node.Call{What: 1, Bytes: 16}
	seen := map[uint64]int{}
	for i, calls := range [][]node.Call{{a}, {b}, {longer}, {a, b}, {b, a}, {a, a}, {a, a, a}, {b, a, a}, {a, b, a}, {a, a, b}, {a, longer, a}} {
		var trail node.Trail
		var last uint64
		for _, c := range calls {
			last = trail.Follow(c)
		}
		before, known := seen[last]
		require.False(t, known, "%d and %d", before, i)
		seen[last] = i
	}
}

package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIdsAreNotUsedAgainSoon checks that the answer to an ended operation cannot match the next
// operation. An ID is used again only after every other ID with its index has been used.
func TestIdsAreNotUsedAgainSoon(t *testing.T) {
	var o operations
	beside := new(Request)
	other := o.add(beside)
	seen := map[uint32]bool{other: true}
	for range 1 << (32 - indexBits) {
		r := new(Request)
		id := o.add(r)
		require.NotZero(t, id)
		require.False(t, seen[id], "%#x", id)
		seen[id] = true
		require.Same(t, r, o.find(id))
		o.drop(id)
		require.Nil(t, o.find(id))
	}
	require.Len(t, o.slots, 2, "the place is used again")
	require.Same(t, beside, o.find(other))
	for _, id := range []uint32{0, 3, indexBits, 1<<indexBits - 1, 1<<32 - 1} {
		require.Nil(t, o.find(id), "%#x", id)
	}
}

package collectives

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Lists of counts that differ have different checksums, which fit in checksumBits.
func TestChecksums(t *testing.T) {
	seen := map[uint64][]int{}
	add := func(counts ...int) {
		sum := (&ragged{counts: counts}).checksum()
		require.Zero(t, sum>>checksumBits)
		require.Nil(t, seen[sum], "%v", counts)
		seen[sum] = counts
	}
	for i := range 60 {
		for j := range 60 {
			add(i, j)
			add(i, j, 0)
			add((i+1)<<32, j)
			for k := range 3 {
				add(i, j, k+1, 100-i-j-k)
			}
		}
		if i > 0 {
			continue
		}
		add()
		add(0)
		add(1)
	}
}

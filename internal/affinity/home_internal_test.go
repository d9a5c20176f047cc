package affinity

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConsecutiveRanksShareAProcessor checks which of the node's processors each rank returns to.
func TestConsecutiveRanksShareAProcessor(t *testing.T) {
	for _, want := range [][]int{
		{0, 0, 1, 1},
		{0, 0, 0, 1, 1},
		{0, 0, 1},
		{0, 0, 0, 1, 1, 1, 2, 2},
	} {
		processors := want[len(want)-1] + 1
		for rank := range want {
			require.Equal(t, want[rank], NewHome(rank, len(want), processors).index, "rank %d of %v", rank, want)
		}
	}
}

package checkpoint

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRing checks the choice of keepers. The keeper of a rank's copy is another rank, and each
// rank keeps the copy of one rank. If no node has more than half of the ranks, the keeper is on
// another node.
func TestRing(t *testing.T) {
	for _, nodes := range [][]int{{0, 0}, {0, 1}, {0, 0, 0}, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 0, 1, 1, 2}, {2, 1, 1, 0, 0, 2, 3}, {0, 0, 0, 1}} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			count, most := map[int]int{}, 0
			for _, n := range nodes {
				count[n]++
				most = max(most, count[n])
			}
			kept := map[int]bool{}
			for rank := range nodes {
				r := ringOf(nodes, rank)
				require.NotEqual(t, rank, r.keeper)
				require.False(t, kept[r.keeper])
				kept[r.keeper] = true
				require.Equal(t, rank, ringOf(nodes, r.keeper).ward)
				if 2*most <= len(nodes) {
					require.NotEqual(t, nodes[rank], nodes[r.keeper])
				}
			}
		})
	}
}

// TestChoose checks which step is restored after a loss in the middle of the Save of step 20.
// Step 10 was saved before. There are three ranks. Rank 1 is lost, with its own copies and with
// the copies of rank 0, which it keeps.
func TestChoose(t *testing.T) {
	survivor := func(ward int, own, kept, committed int) holding {
		return holding{Own: [2]int{10, own}, Kept: [2]int{10, kept}, Ward: [2]int{ward, ward}, Committed: committed}
	}
	gone := holding{Own: [2]int{none, none}, Kept: [2]int{none, none}, Committed: none}
	for name, c := range map[string]struct {
		all  []holding
		want int
	}{
		"before it":               {[]holding{survivor(2, none, none, 10), gone, survivor(1, none, none, 10)}, 10},
		"own alone":               {[]holding{survivor(2, 20, none, 10), gone, survivor(1, 20, none, 10)}, 10},
		"one has stored":          {[]holding{survivor(2, 20, 20, 10), gone, survivor(1, none, none, 10)}, 10},
		"all have stored":         {[]holding{survivor(2, 20, 20, 10), gone, survivor(1, 20, 20, 10)}, 20},
		"one knows it":            {[]holding{survivor(2, 20, 20, 20), gone, survivor(1, 20, 20, 10)}, 20},
		"nothing was ever stored": {[]holding{gone, gone, gone}, none},
	} {
		step, err := choose(c.all)
		require.NoError(t, err, name)
		require.Equal(t, c.want, step, name)
	}
	_, err := choose([]holding{survivor(2, 20, 20, 20), gone, survivor(1, 20, none, 20)})
	require.Equal(t, &LostError{Step: 20, Ranks: []int{1}}, err)
}

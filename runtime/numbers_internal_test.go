package runtime

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The bitmap of numbers behaves like a set.
func TestNumbersAreASet(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var n numbers
		taken, top := map[uint32]bool{}, uint32(0)
		for range 300 {
			number := random.Uint32N(1 + random.Uint32N(300))
			if taken[number] && random.IntN(2) == 0 {
				n.free(number)
				delete(taken, number)
				continue
			}
			require.Equal(t, !taken[number], n.take(number))
			taken[number], top = true, max(top, number+1)
			from := random.Uint32N(400)
			want := from
			for taken[want] {
				want++
			}
			require.Equal(t, want, n.lowest(from))
			window := n.window(from)
			for i := range uint32(64) {
				require.Equal(t, !taken[from+i], window>>i&1 == 1, "%d + %d", from, i)
			}
			require.Equal(t, max(top, want), uint32(n.propose(from).top))
		}
	}
}

// The number that common returns is free at all ranks. If the proposals show the lowest number that is
// free at all ranks, common returns that number.
func TestCommonNumberIsFreeEverywhere(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	low := 0
	for range 3000 {
		ranks := make([]numbers, 1+random.IntN(5))
		proposals := make([]proposal, len(ranks))
		top, atLeast := uint32(0), uint32(random.IntN(3)*random.IntN(90))
		for i := range ranks {
			for range random.IntN(100) {
				ranks[i].take(random.Uint32N(uint32(1 + random.IntN(200))))
			}
			top = max(top, ranks[i].top)
			proposals[i] = ranks[i].propose(atLeast)
		}
		got := uint32(common(proposals))
		require.GreaterOrEqual(t, got, atLeast)
		want := atLeast
		for i := 0; i < len(ranks); i++ {
			if ranks[i].lowest(want) != want {
				want, i = ranks[i].lowest(want), -1
			}
		}
		require.LessOrEqual(t, want, got)
		for i := range ranks {
			require.True(t, ranks[i].take(got))
		}
		if want == got {
			low++
		} else {
			require.GreaterOrEqual(t, got, top)
		}
	}
	require.Greater(t, low, 2900)
}

package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// In this test, the members of a communicator are not in the order of their world ranks. Agree and Shrink change
// neither this order nor a Group of the communicator. The communicator that Shrink returns has the same order.
func TestAgreeKeepsTheOrder(t *testing.T) {
	local(t, 3, func(c *runtime.Comm) {
		reversed, err := c.Split(0, -c.Rank())
		require.NoError(t, err)
		group := reversed.Group()
		_, err = reversed.Agree(1)
		require.NoError(t, err)
		shrunk, err := reversed.Shrink()
		require.NoError(t, err)
		require.Equal(t, []int{2, 1, 0}, group.Ranks())
		for _, made := range []*runtime.Comm{reversed, shrunk} {
			require.Equal(t, []int{2, 1, 0}, made.Group().Ranks())
			require.Equal(t, 2-c.Rank(), made.Rank())
			got := []int{-1}
			_, err = runtime.SendRecv(made, []int{made.Rank()}, (made.Rank()+1)%3, 0, got, (made.Rank()+2)%3, 0)
			require.NoError(t, err)
			require.Equal(t, (made.Rank()+2)%3, got[0])
		}
	})
}

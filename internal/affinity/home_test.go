package affinity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/affinity"
)

// TestOnlyRanksThatShareProcessorsHaveAHome checks NewHome with numbers of ranks and processors.
func TestOnlyRanksThatShareProcessorsHaveAHome(t *testing.T) {
	for _, tc := range []struct {
		ranks, processors int
		home              bool
	}{{1, 1, false}, {2, 1, false}, {2, 2, false}, {2, 4, false}, {3, 2, true}, {64, 2, true}} {
		require.Equal(t, tc.home, affinity.NewHome(0, tc.ranks, tc.processors) != nil, "%d ranks, %d processors", tc.ranks, tc.processors)
	}
}

// counter is a Yielder that counts its calls.
type counter struct{ calls int }

func (c *counter) Yield() { c.calls++ }

// TestEveryYieldIsCalled checks that Yield calls the Yielder once, with and without a Home.
func TestEveryYieldIsCalled(t *testing.T) {
	const yields = 200
	for _, home := range []*affinity.Home{nil, affinity.NewHome(0, 4, 2)} {
		var c counter
		for range yields {
			home.Yield(&c)
		}
		require.Equal(t, yields, c.calls)
	}
}

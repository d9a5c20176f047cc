package collectives_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// Between nodes, the root of a GatherV or ScatterV exchanges a message with every rank up to 40
// ranks, and uses a binomial tree above.
func TestRootOfManyRanks(t *testing.T) {
	for size, want := range map[int]string{40: "linear", 41: "binomial"} {
		world(t, size, func(c *runtime.Comm) error {
			if err := collectives.Distant(c); err != nil {
				return err
			}
			for _, op := range []string{"gatherv", "scatterv"} {
				got, err := collectives.Choice(c, op, 8)
				if err != nil {
					return err
				}
				require.Equal(t, want, got, op)
			}
			return blocking(trials(c, 3, 2))
		})
	}
}

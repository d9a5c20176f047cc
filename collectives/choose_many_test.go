package collectives_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// If every rank is a node of its own and there are at most 40 ranks, the root of a GatherV or ScatterV
// exchanges a message with every other rank. With more than 40 ranks, the messages follow a binomial
// tree.
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

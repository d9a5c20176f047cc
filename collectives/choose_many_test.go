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

// Up to four ranks that are each on a node of its own use the algorithms in which a rank waits least often,
// because such ranks may share processors. In a barrier of two ranks, both send a message at the same time.
func TestFewDistantRanks(t *testing.T) {
	const long = 64 << 10
	for _, row := range []struct {
		op             string
		ranks, bytes   int
		want, withMore string // the choice for these ranks, and for five
	}{
		{"barrier", 2, 0, "dissemination", "dissemination"},
		{"barrier", 3, 0, "k-nomial", "dissemination"},
		{"barrier", 4, 0, "k-nomial", "dissemination"},
		{"allreduce", 4, 1 << 20, "rabenseifner", "ring"},
		{"allgather", 4, 8, "recursive-doubling", "bruck"},
		{"allgather", 3, long, "direct", "ring"},
		{"allgather", 4, 1 << 20, "ring", "ring"},
		{"allgatherv", 4, long, "direct", "ring"},
		{"alltoall", 4, 1 << 10, "bruck", "pairwise"},
		{"alltoall", 4, long, "scattered", "pairwise"},
		{"alltoallv", 4, long, "scattered", "pairwise"},
	} {
		for ranks, want := range map[int]string{row.ranks: row.want, 5: row.withMore} {
			world(t, ranks, func(c *runtime.Comm) error {
				if err := collectives.Distant(c); err != nil {
					return err
				}
				got, err := collectives.Choice(c, row.op, row.bytes)
				require.Equal(t, want, got, "%s of %d bytes on %d ranks", row.op, row.bytes, ranks)
				return err
			})
		}
	}
}

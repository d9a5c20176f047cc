package virtual_test

import (
	"os"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/virtual"
)

// TestScale checks that each simulated rank takes less than 20,000 bytes of memory. With GORUN_SOAK, 131,072 ranks
// execute 17 rounds of recursive doubling of a vector of 1 GiB, which is never allocated. Without GORUN_SOAK, 1,024
// ranks execute 10 rounds.
func TestScale(t *testing.T) {
	ranks, rounds := 1<<10, 10
	if os.Getenv("GORUN_SOAK") != "" {
		ranks, rounds = 1<<17, 17
	}
	const n = 1 << 30
	var memory goruntime.MemStats
	res, err := virtual.Run(virtual.Setup{Ranks: ranks, Model: uniform}, func(r *virtual.Rank) error {
		b := r.Scratch(2 * n)
		op := r.Reduction(sum)
		for mask := 1; mask < ranks; mask <<= 1 {
			if err := r.Exchange(r.Rank()^mask, b[:n], r.Rank()^mask, b[n:]); err != nil {
				return err
			}
			op.Fn(b[:n], b[:n], b[n:])
		}
		if r.Rank() == 0 {
			goruntime.ReadMemStats(&memory)
		}
		return nil
	})
	require.NoError(t, err)
	require.InEpsilon(t, float64(rounds)*(alpha+n*beta+n*gamma), nanoseconds(res.Time), 1e-12)
	require.Equal(t, ranks*rounds, res.Messages)
	perRank := (memory.Sys - memory.HeapReleased) / uint64(ranks)
	t.Logf("%d bytes for each of %d ranks", perRank, ranks)
	require.Less(t, perRank, uint64(20_000))
}

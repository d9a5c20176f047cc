package bench_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bench/internal/launch"
)

// TestMemoryOfAllToAll checks that what the ranks of a node take for messages
// between all pairs does not grow with the square of their number. Four times the
// ranks take about four times the memory: from 32 ranks on all of them have the
// rings they may have, but how far the inboxes of crowded ranks fill is chance.
func TestMemoryOfAllToAll(t *testing.T) {
	least, most := memoryOf(t, 32, "pairwise"), memoryOf(t, 128, "pairwise")
	t.Logf("32 and 128 ranks: %v and %v KiB", least, most)
	require.Less(t, most.shared, 10*least.shared, "the square is 16 times")
	ranks := 128
	if os.Getenv("GORUN_SOAK") == "1" {
		ranks = 256
	}
	// Through shared memory the blocks themselves lie there for a while; their
	// number is the square, what they may take is not.
	for _, coll := range []string{"pairwise", "auto"} {
		u := memoryOf(t, ranks, coll)
		t.Logf("%d ranks, %s: %v KiB", ranks, coll, u)
		require.Less(t, u.shared, 256.0*mib)
		require.Less(t, u.rank, 12.0*mib)
	}
}

// mib is in KiB, as the table is.
const mib = 1 << 10

// usage is what one rank takes, shared pages in parts, and all ranks share, in KiB.
type usage struct{ rank, shared float64 }

func memoryOf(t *testing.T, ranks int, coll string) usage {
	t.Helper()
	out, err := launch.Run(t.Context(), timeout, []string{"GORUN_COLL=alltoall=" + coll},
		filepath.Join(bin, "gorun"), "-np", strconv.Itoa(ranks), filepath.Join(bin, "memory"), "-alltoall", "-json")
	require.NoError(t, err)
	var r result
	require.NoError(t, json.Unmarshal([]byte(out.Stdout), &r), out.Stdout)
	require.Equal(t, []string{"PSS (KiB)", "Largest (KiB)", "All shared (KiB)"}, r.Columns)
	require.Positive(t, r.Rows[0].Values[2])
	return usage{r.Rows[0].Values[1], r.Rows[0].Values[2]}
}

package bench_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// TestMemoryOfAllToAll checks the memory that the ranks of a node take for messages between all pairs of
// ranks. The memory must not grow with the square of the number of ranks. The test does not compare the memory
// of two jobs, because the fill level of the inboxes varies by chance. Instead, it limits the memory per rank.
// The limit is the same for 32 and for 128 ranks. 128 ranks would exceed it with a page for each sender and
// receiver in addition to their other shared memory.
func TestMemoryOfAllToAll(t *testing.T) {
	const pageKiB = 4
	for _, ranks := range []int{32, 128} {
		u := memoryOf(t, ranks, "pairwise")
		t.Logf("%d ranks: %v KiB", ranks, u)
		require.Less(t, u.shared/float64(ranks), 128.0*pageKiB)
	}
	ranks := 128
	if os.Getenv("GORUN_SOAK") == "1" {
		ranks = 256
	}
	// The blocks themselves are in shared memory for a while. The number of blocks grows with the square of
	// the number of ranks, but the memory that contains them is bounded.
	for _, coll := range []string{"pairwise", "auto"} {
		u := memoryOf(t, ranks, coll)
		t.Logf("%d ranks, %s: %v KiB", ranks, coll, u)
		require.Less(t, u.shared, 256.0*mib)
		require.Less(t, u.rank, 12.0*mib)
	}
}

// mib is a MiB in KiB, the unit of the table.
const mib = 1 << 10

// usage holds two amounts of memory in KiB. The field rank is the memory of the rank that uses most,
// including its share of shared pages. The field shared is the shared memory of all ranks together.
type usage struct{ rank, shared float64 }

func memoryOf(t *testing.T, ranks int, coll string) usage {
	t.Helper()
	out, err := launch.Execute(t.Context(), timeout, []string{"GORUN_COLL=alltoall=" + coll},
		filepath.Join(bin, "gorun"), "-np", strconv.Itoa(ranks), filepath.Join(bin, "memory"), "-alltoall", "-json")
	require.NoError(t, err)
	var r result
	require.NoError(t, json.Unmarshal([]byte(out.Out), &r), out.Out)
	require.Equal(t, []string{"PSS (KiB)", "Largest (KiB)", "All shared (KiB)"}, r.Columns)
	require.Positive(t, r.Rows[0].Values[2])
	return usage{r.Rows[0].Values[1], r.Rows[0].Values[2]}
}

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

// TestMemoryOfAllToAll checks that what the ranks of a node take for messages
// between all pairs does not grow with the square of their number. How far the
// inboxes of crowded ranks fill is chance, up to a limit for each rank that is the
// same for any number of them; a page for each pair would be above it.
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
	out, err := launch.Execute(t.Context(), timeout, []string{"GORUN_COLL=alltoall=" + coll},
		filepath.Join(bin, "gorun"), "-np", strconv.Itoa(ranks), filepath.Join(bin, "memory"), "-alltoall", "-json")
	require.NoError(t, err)
	var r result
	require.NoError(t, json.Unmarshal([]byte(out.Out), &r), out.Out)
	require.Equal(t, []string{"PSS (KiB)", "Largest (KiB)", "All shared (KiB)"}, r.Columns)
	require.Positive(t, r.Rows[0].Values[2])
	return usage{r.Rows[0].Values[1], r.Rows[0].Values[2]}
}

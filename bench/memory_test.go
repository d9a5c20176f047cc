package bench_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// TestMemoryOfAllToAll checks the memory that the ranks of a node take for messages between all pairs of
// ranks. The memory must not grow with the square of the number of ranks. The test does not compare the memory
// of two jobs, because the fill level of the inboxes varies by chance. Instead, it limits the memory per rank.
// The limits are the same for all numbers of ranks. Ranks would exceed them with a page for each sender and
// receiver in addition to their other shared memory. They would also exceed them if their buffers were twice as
// large: a rank of 128 takes 128 to 132 KiB of shared memory with pairwise, and 208 KiB if its inbox has twice as many
// slots.
func TestMemoryOfAllToAll(t *testing.T) {
	type job struct {
		ranks  int
		coll   string
		shared float64 // limit for the shared memory per rank, in KiB
	}
	jobs := []job{{32, "pairwise", 192}, {128, "pairwise", 192}}
	ranks := 128
	if os.Getenv("GORUN_SOAK") == "1" {
		ranks = 256
		jobs = append(jobs, job{ranks, "pairwise", 192})
	}
	// With auto, the blocks are in shared memory for a while. The number of blocks grows with the square of the
	// number of ranks, but the memory that contains them is bounded.
	auto := job{ranks, "auto", 144}
	if goruntime.NumCPU() >= ranks {
		auto.shared += 128 // this memory is larger if each rank has a processor
	}
	for _, j := range append(jobs, auto) {
		u := memoryOf(t, j.ranks, j.coll)
		t.Logf("%d ranks, %s: %v KiB", j.ranks, j.coll, u)
		require.Less(t, u.shared/float64(j.ranks), j.shared)
		require.Less(t, u.rank, 8.0*mib)
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

package bench_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// patience is the timeout of each job of a thousand ranks. The test does not check how long the jobs take.
const patience = 10 * time.Minute

// TestAThousandRanksMeet checks that 1,000 ranks on this machine start, meet in a barrier and end
// without a failure. The test logs the time, the processor time and the memory that this takes.
func TestAThousandRanksMeet(t *testing.T) {
	if os.Getenv("GORUN_SOAK") != "1" {
		t.Skip("a thousand processes: GORUN_SOAK=1")
	}
	const ranks = 1000
	name := filepath.Join(t.TempDir(), "report.json")
	got, err := launch.Execute(t.Context(), patience, nil,
		filepath.Join(bin, "gorun"), "-np", strconv.Itoa(ranks), "-report", name, filepath.Join(bin, "startup"))
	require.NoError(t, err)
	require.Empty(t, got.Out)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	var r struct {
		Ranks []struct {
			Clean       bool    `json:"clean"`
			User        float64 `json:"user_seconds"`
			System      float64 `json:"system_seconds"`
			MaxRSSBytes int64   `json:"max_rss_bytes"`
		} `json:"ranks"`
	}
	require.NoError(t, json.Unmarshal(text, &r))
	require.Len(t, r.Ranks, ranks)
	var user, system float64
	var most int64
	for i, one := range r.Ranks {
		require.True(t, one.Clean, "rank %d", i)
		user, system, most = user+one.User, system+one.System, max(most, one.MaxRSSBytes)
	}
	t.Logf("%d ranks with a barrier: %v, processor time of the ranks %.1f s (%.1f in the kernel), resident at most %d MiB each, shared pages among it",
		ranks, got.Wall.Round(100*time.Millisecond), user+system, system, most>>20)
	out, err := launch.Execute(t.Context(), patience, nil, filepath.Join(bin, "gorun"), "-np", strconv.Itoa(ranks), filepath.Join(bin, "memory"), "-json")
	require.NoError(t, err)
	var memory result
	require.NoError(t, json.Unmarshal([]byte(out.Out), &memory), out.Out)
	require.Equal(t, []string{"PSS (KiB)", "Largest (KiB)", "All shared (KiB)"}, memory.Columns)
	require.Positive(t, memory.Rows[0].Values[0])
	t.Logf("memory after a barrier: %v %v", memory.Columns, memory.Rows[0].Values)
}

package main_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

func TestMain(m *testing.M) { launch.Main(m) }

// TestBatchOfProcesses sends 64 MiB through two other processes, and checks that each of them allocates less
// than 32 MiB. A rank that waits for a long time may allocate a few MiB for the reports of its wait.
func TestBatchOfProcesses(t *testing.T) {
	out := launch.Example(t, 3, "-mib", "64")
	for rank := 1; rank <= 2; rank++ {
		_, line, ok := strings.Cut(out, fmt.Sprintf("rank %d: ", rank))
		require.True(t, ok, out)
		var rows, kib int
		var sum float64
		_, err := fmt.Sscanf(line, "%d rows, sum %g, %d KiB allocated", &rows, &sum, &kib)
		require.NoError(t, err, out)
		require.Equal(t, 64<<16, rows)
		require.InDelta(t, 0.25*float64(rows)*float64(rows-1), sum, 1)
		require.Less(t, kib, 32<<10, out)
	}
}

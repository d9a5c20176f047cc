package main_test

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bench/internal/launch"
)

// TestQuickComparison runs one measurement of the real comparison, with
// whatever peers are installed.
func TestQuickComparison(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, launch.Build(dir, "bench/peers"))
	out, err := launch.Run(t.Context(), 4*time.Minute, nil, filepath.Join(dir, "peers"),
		"-quick", "-rounds", "1", "-only", "^latency 8 B$", "-out", filepath.Join(dir, "results"))
	require.NoError(t, err)
	require.Regexp(t, `\| latency 8 B \| us \| [0-9.]+ \|`, out.Stdout)
	require.FileExists(t, filepath.Join(dir, "results", "peers.json"))
	for peer, title := range map[string]string{"mpicc.openmpi": "Open MPI", "mpicc.mpich": "MPICH"} {
		if _, err := exec.LookPath(peer); err != nil {
			require.Contains(t, out.Stdout, "* "+title+": not installed")
		}
	}
}

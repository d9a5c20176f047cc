package main_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bench/internal/launch"
)

// quick runs the rows of the real comparison that match an expression, small, and
// returns where the results are and what it printed.
func quick(t *testing.T, only string, timeout time.Duration) (results, table string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, launch.Build(dir, "bench/peers"))
	results = filepath.Join(dir, "results")
	out, err := launch.Run(t.Context(), timeout, nil, filepath.Join(dir, "peers"),
		"-quick", "-rounds", "1", "-only", only, "-out", results)
	require.NoError(t, err)
	return results, out.Stdout
}

// TestQuickComparison runs one measurement of the real comparison, with
// whatever peers are installed.
func TestQuickComparison(t *testing.T) {
	results, table := quick(t, "^latency 8 B$", 4*time.Minute)
	require.Regexp(t, `\| latency 8 B \| us \| [0-9.]+ \|`, table)
	require.FileExists(t, filepath.Join(results, "peers.json"))
	for peer, title := range map[string]string{"mpicc.openmpi": "Open MPI", "mpicc.mpich": "MPICH"} {
		if _, err := exec.LookPath(peer); err != nil {
			require.Contains(t, table, "* "+title+": not installed")
		}
	}
}

// TestQuickActors runs every measurement of actors and of the peers that can be
// built.
func TestQuickActors(t *testing.T) {
	results, table := quick(t, "^actors", 8*time.Minute)
	require.NotContains(t, table, "gorun: ")
	figure := ` -?[0-9.]+M? \|`
	theirs := figure
	if strings.Contains(table, "* protoactor: not built: ") {
		theirs = "" // it has no column
	}
	for _, place := range []string{"node", "TCP"} {
		require.Regexp(t, `\| actors request/reply 64 B inline, `+place+` \| us \|`+figure+theirs+figure, table)
	}
	require.Regexp(t, `\| actors memory per actor \| B \|`+figure+theirs, table)
	if theirs != "" {
		for line := range strings.Lines(table) {
			// What so few actors take can be less than nothing.
			if !strings.Contains(line, " memory per ") {
				require.NotContains(t, line, "| ? |", "a row has no figures")
			}
		}
	}
	require.FileExists(t, filepath.Join(results, "actors.json"))
	require.NoFileExists(t, filepath.Join(results, "peers.json"))
}

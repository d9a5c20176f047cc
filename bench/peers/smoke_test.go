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

// TestQuickActors runs every measurement of actors and of the peers that can be
// built.
func TestQuickActors(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, launch.Build(dir, "bench/peers"))
	out, err := launch.Run(t.Context(), 8*time.Minute, nil, filepath.Join(dir, "peers"),
		"-quick", "-rounds", "1", "-only", "^actors", "-out", filepath.Join(dir, "results"))
	require.NoError(t, err)
	require.NotContains(t, out.Stdout, "gorun: ")
	figure := ` -?[0-9.]+M? \|`
	theirs := figure
	if strings.Contains(out.Stdout, "* protoactor: not built: ") {
		theirs = "" // it has no column
	}
	for _, place := range []string{"node", "TCP"} {
		require.Regexp(t, `\| actors request/reply 64 B inline, `+place+` \| us \|`+figure+theirs+figure, out.Stdout)
	}
	require.Regexp(t, `\| actors memory per actor \| B \|`+figure+theirs, out.Stdout)
	if theirs != "" {
		for line := range strings.Lines(out.Stdout) {
			// What so few actors take can be less than nothing.
			if !strings.Contains(line, " memory per ") {
				require.NotContains(t, line, "| ? |", "a row has no figures")
			}
		}
	}
	require.FileExists(t, filepath.Join(dir, "results", "actors.json"))
	require.NoFileExists(t, filepath.Join(dir, "results", "peers.json"))
}

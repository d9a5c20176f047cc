package main_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// quick runs a small part of the real comparison. It returns the directory of the results and the
// printed table.
func quick(t *testing.T, timeout time.Duration, flags ...string) (results, table string) {
	t.Helper()
	launch.Processors(t)
	dir := t.TempDir()
	require.NoError(t, launch.Install(".", dir, nil, "bench/peers"))
	results = filepath.Join(dir, "results")
	command := append([]string{filepath.Join(dir, "peers"), "-quick", "-rounds", "1", "-out", results}, flags...)
	out, err := launch.Execute(t.Context(), timeout, nil, command...)
	if _, missing, found := strings.Cut(out.Errors, "no emulated hosts: "); found {
		t.Skip(strings.TrimSpace(missing))
	}
	require.NoError(t, err)
	return results, out.Out
}

// TestQuickComparison runs one measurement of the real comparison with the peer systems that are
// installed.
func TestQuickComparison(t *testing.T) {
	results, table := quick(t, 4*time.Minute, "-only", "^latency 8 B$")
	require.Regexp(t, `\| latency 8 B \| us \| [0-9.]+ \|`, table)
	require.FileExists(t, filepath.Join(results, "peers.json"))
	require.NoFileExists(t, filepath.Join(results, "crowd.json"))
	for peer, title := range map[string]string{"mpicc.openmpi": "Open MPI", "mpicc.mpich": "MPICH"} {
		if _, err := exec.LookPath(peer); err != nil {
			require.Contains(t, table, "* "+title+": not installed")
		}
	}
}

// TestQuickActors runs every measurement of actors with the peer systems that can be built.
func TestQuickActors(t *testing.T) {
	results, table := quick(t, 8*time.Minute, "-part", "actors")
	require.NotContains(t, table, "gorun: ")
	figure := ` -?[0-9.]+M? \|`
	theirs := figure
	if strings.Contains(table, "* protoactor: not built: ") {
		theirs = "" // protoactor has no column
	}
	for _, place := range []string{"node", "TCP"} {
		require.Regexp(t, `\| actors request/reply 64 B inline, `+place+` \| us \|`+figure+theirs+figure, table)
	}
	require.Regexp(t, `\| actors memory per actor \| B \|`+figure+theirs, table)
	if theirs != "" {
		for line := range strings.Lines(table) {
			// The memory per actor may be negative, because a quick run has few actors.
			if !strings.Contains(line, " memory per ") {
				require.NotContains(t, line, "| ? |", "a row has no figures")
			}
		}
	}
	require.FileExists(t, filepath.Join(results, "actors.json"))
	require.NoFileExists(t, filepath.Join(results, "peers.json"))
}

// TestQuickCurves measures every size of the curves with the peer systems that are installed, and
// draws the curves.
func TestQuickCurves(t *testing.T) {
	results, table := quick(t, 4*time.Minute, "-part", "curves")
	for _, what := range []string{"latency, us", "bandwidth, MB/s"} {
		require.Regexp(t, `(?m)^\| `+what+` \| gorun \|`, table)
	}
	for _, size := range []string{"1 B", "8 KiB", "16 KiB", "4 MiB"} {
		require.Len(t, regexp.MustCompile(`(?m)^\| `+size+` \| [0-9.]+ \[`).FindAllString(table, -1), 2, table)
	}
	for _, name := range []string{"curves.md", "curves.json", "latency.png", "bandwidth.png"} {
		require.FileExists(t, filepath.Join(results, name))
	}
	require.NoFileExists(t, filepath.Join(results, "curves.png"), "there are no rows")
}

// TestQuickHosts runs one measurement on emulated hosts. Open MPI takes part if it is installed.
func TestQuickHosts(t *testing.T) {
	results, table := quick(t, 4*time.Minute, "-part", "hosts", "-only", "^bcast 8 B,")
	require.Regexp(t, `\| bcast 8 B, 4 ranks \| us \| [0-9.]+ \|`, table)
	require.NotContains(t, table, "gorun: ")
	require.FileExists(t, filepath.Join(results, "hosts.json"))
}

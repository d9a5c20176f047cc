package main_test

import (
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// TestActors checks that every measurement runs with few messages and prints its line.
func TestActors(t *testing.T) {
	bin := t.TempDir()
	require.NoError(t, launch.Install(".", bin, nil, "cmd/gorun", "bench/actors"))
	gorun, actors := filepath.Join(bin, "gorun"), filepath.Join(bin, "actors")
	few := []string{"-rounds", "1", "-scale", "0.01"}
	for name, tc := range map[string]struct {
		command []string
		lines   int
	}{
		"between ranks": {[]string{gorun, "-np", "3", actors}, 20},
		"over TCP":      {[]string{gorun, "-np", "2", "-transport", "rdma", actors}, 20},
		"within a rank": {[]string{gorun, "-np", "1", actors, "-local"}, 7},
		"some":          {[]string{gorun, "-np", "2", actors, "-only", "RequestFuture"}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := launch.Execute(t.Context(), 2*time.Minute, nil, append(tc.command, few...)...)
			require.NoError(t, err)
			lines := regexp.MustCompile(`(?m)^\S.*\S +-?\d+\.\d{3} (us|M/s|MB/s|B|)$`).FindAllString(out.Out, -1)
			require.Len(t, lines, tc.lines, out.Out)
		})
	}
	_, err := launch.Execute(t.Context(), 2*time.Minute, nil, gorun, "-np", "1", actors)
	require.ErrorContains(t, err, "needs at least 2 ranks")
	_, err = launch.Execute(t.Context(), 2*time.Minute, nil, gorun, "-np", "2", actors, "-local")
	require.ErrorContains(t, err, "-local measures one rank")
	_, err = launch.Execute(t.Context(), 2*time.Minute, nil, gorun, "-np", "1", actors, "-local", "-rounds", "0")
	require.ErrorContains(t, err, "-rounds 0: it must be at least 1")
}

package main_test

import (
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bench/internal/launch"
)

// Every measurement runs and prints its line, with few messages.
func TestActors(t *testing.T) {
	bin := t.TempDir()
	require.NoError(t, launch.Build(bin, "cmd/gorun", "bench/actors"))
	out, err := launch.Run(t.Context(), 2*time.Minute, nil,
		filepath.Join(bin, "gorun"), "-np", "2", filepath.Join(bin, "actors"), "-rounds", "1", "-scale", "0.01")
	require.NoError(t, err)
	lines := regexp.MustCompile(`(?m)^\S.*\S +\d+\.\d\d (us|M/s|MB/s)$`).FindAllString(out.Stdout, -1)
	require.Len(t, lines, 11, out.Stdout)
}

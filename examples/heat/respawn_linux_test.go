package main_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
)

// TestKilled kills a rank at random after each line of progress. The frames and the last line are
// those of a job without a loss, and no process is left.
func TestKilled(t *testing.T) {
	kills, size := 3, 300
	ways := map[string][]string{"auto": {"-transport", "auto"}}
	if os.Getenv("GORUN_SOAK") == "1" {
		kills, size = 100, 12000
		ways["rdma"] = []string{"-transport", "rdma"}
		c := nscluster.Start(t, 3)
		ways["hosts"] = []string{"-host", "h0:2,h1:2,h2:2", "-rsh", c.Rsh()}
	}
	heat := launch.Build(t, "heat", launch.Module+"/examples/heat")
	run := func(dir string, way []string, kills int) string {
		mark := fmt.Sprintf("GORUN_TEST_HEAT=%s", dir)
		job := exec.Command(launch.Gorun(t), slices.Concat([]string{"-np", "4", "-timeout", "300s"}, way,
			[]string{
				"-on-failure", fmt.Sprintf("respawn=%d", max(kills, 1)),
				heat, "-steps", fmt.Sprint(size), "-every", "50", "-checkpoint", "10", "-out", dir,
			})...)
		var errs bytes.Buffer
		job.Env, job.Stderr = append(os.Environ(), mark), &errs
		out, err := job.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, job.Start())
		last, killed, victim := "", 0, ""
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if last = lines.Text(); strings.HasPrefix(last, "[") && killed < kills {
				if victim = launch.KillRank(mark, victim); victim != "" {
					killed++
				}
			}
		}
		require.NoError(t, job.Wait(), errs.String())
		require.Equal(t, kills, killed)
		require.Equal(t, kills, strings.Count(errs.String(), "it is started again ("), errs.String())
		require.Empty(t, launch.Marked(mark))
		return last
	}
	undisturbed := filepath.Join(t.TempDir(), "undisturbed")
	want := run(undisturbed, nil, 0)
	for name, way := range ways {
		dir := filepath.Join(t.TempDir(), name)
		require.Equal(t, want, run(dir, way, kills))
		names, err := filepath.Glob(filepath.Join(undisturbed, "*.png"))
		require.NoError(t, err)
		require.Len(t, names, size/50)
		for _, name := range names {
			requireSame(t, name, filepath.Join(dir, filepath.Base(name)))
		}
		requireSame(t, filepath.Join(undisturbed, "heat.gif"), filepath.Join(dir, "heat.gif"))
	}
}

func requireSame(t *testing.T, a, b string) {
	t.Helper()
	want, err := os.ReadFile(a)
	require.NoError(t, err)
	got, err := os.ReadFile(b)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got), b)
}

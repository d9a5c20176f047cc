package main_test

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// TestKilled kills a rank at random after each line of progress. The frames and the last line are
// those of a job without a loss, and no process is left.
func TestKilled(t *testing.T) {
	kills, size, transports := 3, 300, []string{"auto"}
	if os.Getenv("GORUN_SOAK") == "1" {
		kills, size, transports = 100, 12000, []string{"auto", "rdma"}
	}
	heat := launch.Build(t, "heat", launch.Module+"/examples/heat")
	run := func(dir, transport string, kills int) string {
		mark := fmt.Sprintf("GORUN_TEST_HEAT=%s", dir)
		job := exec.Command(launch.Gorun(t), "-np", "4", "-timeout", "300s", "-transport", transport,
			"-on-failure", fmt.Sprintf("respawn=%d", max(kills, 1)),
			heat, "-steps", fmt.Sprint(size), "-every", "50", "-checkpoint", "10", "-out", dir)
		var errs bytes.Buffer
		job.Env, job.Stderr = append(os.Environ(), mark), &errs
		out, err := job.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, job.Start())
		last, killed, victim := "", 0, ""
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if last = lines.Text(); strings.HasPrefix(last, "[") && killed < kills {
				if victim = killOne(mark, victim); victim != "" {
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
	want := run(undisturbed, "auto", 0)
	for _, transport := range transports {
		dir := filepath.Join(t.TempDir(), transport)
		require.Equal(t, want, run(dir, transport, kills))
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

// killOne kills a rank of a job, another than the last, and returns which, "" if there is none.
func killOne(mark, last string) string {
	ranks := map[string]int{}
	for _, pid := range launch.Marked(mark) {
		environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			continue // it has ended
		}
		for _, v := range strings.Split(string(environment), "\x00") {
			if rank, ok := strings.CutPrefix(v, "GORUN_RANK="); ok && rank != last {
				ranks[rank] = pid
			}
		}
	}
	names := slices.Sorted(maps.Keys(ranks))
	if len(names) == 0 {
		return ""
	}
	victim := names[rand.IntN(len(names))]
	if syscall.Kill(ranks[victim], syscall.SIGKILL) != nil {
		return ""
	}
	return victim
}

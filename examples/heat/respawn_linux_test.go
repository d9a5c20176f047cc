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

// killings describes a job in which ranks are killed.
type killings struct {
	program string
	kills   int // largest number of kills in a job
	steps   int
	// every is the number of steps between lines of progress. It is larger than 10, the number of steps
	// between checkpoints. For this reason, the job makes a checkpoint between two lines of progress, and
	// also between two kills.
	every int
}

// TestKilled kills a random rank after the second line of progress of a generation, when all ranks have made
// a checkpoint in this generation. The frames and the last line must be those of a job without a loss, and no
// process may be left. With GORUN_SOAK=1, the test kills 100 ranks with each of the lists of options in ways,
// in several jobs. The test kills ranks only in the first half of a job, because the job may be far ahead of
// the output that the test reads.
func TestKilled(t *testing.T) {
	k, all := killings{kills: 3, steps: 300, every: 20}, 3
	ways := map[string][]string{"auto": {"-transport", "auto"}}
	if os.Getenv("GORUN_SOAK") == "1" {
		k.kills, k.steps, all = 25, 1000, 100
		ways["rdma"] = []string{"-transport", "rdma"}
		hosts := []string{"-host", "h0:4,h1:4,h2:4", "-map-by", "node", "-rsh", nscluster.Start(t, 3).Rsh()}
		ways["hosts"] = hosts
		ways["spares"] = slices.Concat(hosts, []string{"-spares", "8"})
	}
	k.program = launch.Build(t, "heat", launch.Module+"/examples/heat")
	undisturbed := filepath.Join(t.TempDir(), "undisturbed")
	want, _ := k.run(t, undisturbed, nil, 0)
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			for left := all; left > 0; {
				dir := filepath.Join(t.TempDir(), "frames")
				last, killed := k.run(t, dir, way, min(left, k.kills))
				require.Equal(t, want, last)
				require.NotZero(t, killed)
				requireSameFrames(t, undisturbed, dir, k.steps/k.every)
				left -= killed
			}
		})
	}
}

// run runs a job and kills at most kills ranks. It returns the last line and the number of killed
// ranks.
func (k killings) run(t *testing.T, dir string, way []string, kills int) (last string, killed int) {
	t.Helper()
	mark := "GORUN_TEST_HEAT=" + dir
	job := exec.Command(launch.Gorun(t), slices.Concat([]string{"-np", "4", "-timeout", "300s"}, way, []string{
		"-on-failure", fmt.Sprintf("respawn=%d", max(kills, 1)),
		k.program, "-steps", fmt.Sprint(k.steps), "-every", fmt.Sprint(k.every), "-checkpoint", "10", "-out", dir,
	})...)
	var errs bytes.Buffer
	job.Env, job.Stderr = append(os.Environ(), mark), &errs
	out, err := job.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, job.Start())
	// The variable since counts the lines of progress since the start of the generation.
	victim, since, step := "", 0, 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		switch last = lines.Text(); {
		case last == fmt.Sprintf("generation %d goes on after the last checkpoint", killed):
			since = 0
		case strings.HasPrefix(last, "["):
			since++
			_, progress, _ := strings.Cut(last, "] ")
			_, err := fmt.Sscanf(progress, "step %d", &step)
			require.NoError(t, err)
		}
		if since >= 2 && killed < kills && step <= k.steps/2 {
			if victim = launch.KillRank(mark, victim); victim != "" {
				// Lines that are still in the pipe belong to the earlier generation. Because since is
				// negative, these lines do not lead to a kill.
				killed, since = killed+1, -k.steps
			}
		}
	}
	require.NoError(t, job.Wait(), errs.String())
	require.Equal(t, killed, strings.Count(errs.String(), "it is started again ("), errs.String())
	require.Empty(t, launch.Marked(mark))
	return last, killed
}

// requireSameFrames compares the files that two jobs have written.
func requireSameFrames(t *testing.T, a, b string, frames int) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(a, "*.png"))
	require.NoError(t, err)
	require.Len(t, names, frames)
	for _, name := range append(names, filepath.Join(a, "heat.gif")) {
		requireSame(t, name, filepath.Join(b, filepath.Base(name)))
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

package main_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// TestKilled kills a rank at random after an iteration that was saved since the last one was killed: of
// two at once, one may have the only copy of the other's state. The result is, to the bit, that
// of a job without a loss, and no process is left.
func TestKilled(t *testing.T) {
	jobs, kills := 1, 3
	if os.Getenv("GORUN_SOAK") == "1" {
		jobs, kills = 10, 10
	}
	program := launch.Build(t, "npb", launch.Module+"/bench/npb")
	run := func(number, kills int) string {
		mark := fmt.Sprintf("GORUN_TEST_NPB=%d.%d", os.Getpid(), number)
		job := exec.Command(launch.Gorun(t), "-np", "4", "-timeout", "300s", "-on-failure", fmt.Sprintf("respawn=%d", max(kills, 1)),
			program, "-kernel", "cg", "-class", "S", "-checkpoint")
		var errs bytes.Buffer
		job.Env, job.Stderr = append(os.Environ(), mark), &errs
		out, err := job.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, job.Start())
		zeta, killed, victim := "", 0, ""
		for lines := bufio.NewScanner(out); lines.Scan(); {
			switch line := lines.Text(); {
			case strings.HasPrefix(line, " zeta "):
				zeta = line
			case strings.HasSuffix(line, fmt.Sprintf(" is saved in generation %d", killed)) && killed < kills:
				if victim = launch.KillRank(mark, victim); victim != "" {
					killed++
				}
			}
		}
		require.NoError(t, job.Wait(), errs.String())
		require.Equal(t, kills, killed)
		require.Equal(t, kills, strings.Count(errs.String(), "it is started again ("), errs.String())
		require.Empty(t, launch.Marked(mark))
		return zeta
	}
	want := run(0, 0)
	require.NotEmpty(t, want)
	for number := range jobs {
		require.Equal(t, want, run(number+1, kills))
	}
}

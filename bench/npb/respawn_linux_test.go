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

// TestKilled kills a random rank after each generation of the job has saved an iteration. The test kills the
// next rank only after the job has saved another iteration. Otherwise, the next rank might have the only copy
// of the state of the rank that was killed before. The result must be the same, bit by bit, as the result of
// a job without a loss. No process may be left at the end. A job may end before the test has killed as many
// ranks as the job may lose. In this case the test starts another job.
func TestKilled(t *testing.T) {
	kills, most := 3, 3
	if os.Getenv("GORUN_SOAK") == "1" {
		kills, most = 100, 10
	}
	program := launch.Build(t, "npb", launch.Module+"/bench/npb")
	run := func(number, kills int) (zeta string, killed int) {
		mark := fmt.Sprintf("GORUN_TEST_NPB=%d.%d", os.Getpid(), number)
		job := exec.Command(launch.Gorun(t), "-np", "4", "-timeout", "300s", "-on-failure", fmt.Sprintf("respawn=%d", max(kills, 1)),
			program, "-kernel", "cg", "-class", "S", "-checkpoint")
		var errs bytes.Buffer
		job.Env, job.Stderr = append(os.Environ(), mark), &errs
		out, err := job.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, job.Start())
		victim := ""
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
		// The last rank may have been killed after it had finished its function.
		if err := job.Wait(); err != nil {
			require.Contains(t, errs.String(), "because the function of World.Resume has ended at all ranks")
			killed--
		}
		require.Equal(t, killed, strings.Count(errs.String(), "it is started again ("), errs.String())
		require.Empty(t, launch.Marked(mark))
		return zeta, killed
	}
	want, _ := run(0, 0)
	require.NotEmpty(t, want)
	for number, left := 1, kills; left > 0; number++ {
		require.LessOrEqual(t, number, 10*kills, "jobs end before a rank of them is killed")
		zeta, killed := run(number, min(left, most))
		require.Equal(t, want, zeta)
		left -= killed
	}
}

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
// of a job without a loss, and no process is left. A job may have done its work
// before as many are killed as it may lose: then another one follows.
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
		if err := job.Wait(); err != nil { // the last one was killed when it had done its part
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

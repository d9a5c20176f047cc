package main_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/slurm"
)

// TestSlurmTimeLimit runs jobs beyond their time limit. Slurm sends SIGTERM, which must reach the ranks.
// After KillWait, Slurm sends SIGKILL to the processes that are left, including gorun. The output must name
// the cause of the end, and no process may be left.
func TestSlurmTimeLimit(t *testing.T) {
	if os.Getenv("GORUN_SOAK") == "" {
		t.Skip("GORUN_SOAK is not set: Slurm looks at time limits every 30 s")
	}
	c := slurm.Start(t, 2)
	jobs := map[string][]string{
		// texts of the output, by the command that the ranks execute at SIGTERM
		`-`:                    {"the job failed with exit code 143\n", "first failure: rank ", "was killed by SIGTERM"},
		`"echo saved; exit 0"`: {"saved\n"},
		`"echo ignored"`:       {"ignored\n"},
	}
	outputs := map[string]string{}
	for trap := range jobs {
		program := "trap " + trap + " TERM; echo ready; while :; do sleep 0.1; done"
		outputs[trap] = batch(t, c, "exec "+binary+" sh -c '"+program+"'", "-N2", "-n2", "--job-name=limit", "--array=0-0") + ".0"
	}
	for trap := range jobs {
		c.Await("two ranks are ready", func() bool { return strings.Count(content(outputs[trap]), "ready\n") == 2 })
	}
	ids, err := c.Command("squeue", "-h", "-o", "%A", "-n", "limit").Output()
	require.NoError(t, err)
	require.Len(t, strings.Fields(string(ids)), len(jobs))
	for _, id := range strings.Fields(string(ids)) {
		// Time limits are in minutes. To be faster, the test moves the end time.
		out, err := c.Command("scontrol", "update", "JobId="+id, "EndTime=now+5").CombinedOutput()
		require.NoError(t, err, string(out))
	}
	c.Empty()
	for trap, wants := range jobs {
		text := content(outputs[trap])
		for _, want := range append(wants, "SIGTERM is passed on to the ranks of this host", "DUE TO TIME LIMIT") {
			require.Contains(t, text, want, trap)
		}
	}
}

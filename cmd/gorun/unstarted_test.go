package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// If a lost rank cannot be started again, the job ends with an error that names the cause. The report has the process
// that was killed.
func TestRankThatCannotBeStartedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		flags []string
		code  int
		want  string
	}{
		"here":     {[]string{"-np", "2"}, 137, "was killed by SIGKILL (signal 9, killed) after"},
		"on hosts": {[]string{"-host", "a,b", "-rsh", rsh(t)}, 127, "first failure: host a cannot go on: start "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			report := filepath.Join(dir, "report")
			// The program is removed when both ranks have started it, and before rank 0 kills itself.
			prog := script(t, fmt.Sprintf("cd %s; touch $GORUN_RANK; [ $GORUN_RANK = 1 ] && { until [ -e 0 ]; do sleep 0.01; done; rm $0; }\n"+
				"exec %s helper:generations 1 0:0\n", dir, self))
			got := gorun(t, nil, append(c.flags, "-on-failure", "respawn", "-grace", "1s", "-report", report, prog)...)
			require.Equal(t, c.code, got.code, got.err)
			require.Contains(t, got.err, c.want)
			require.Contains(t, got.err, prog)
			text, err := os.ReadFile(report)
			require.NoError(t, err)
			var r struct {
				Ranks []struct {
					PID      int     `json:"pid"`
					ExitCode int     `json:"exit_code"`
					Signal   string  `json:"signal"`
					Seconds  float64 `json:"seconds"`
				} `json:"ranks"`
			}
			require.NoError(t, json.Unmarshal(text, &r))
			require.Positive(t, r.Ranks[0].PID)
			require.Positive(t, r.Ranks[0].Seconds)
			require.Equal(t, "137 SIGKILL", fmt.Sprint(r.Ranks[0].ExitCode, " ", r.Ranks[0].Signal))
		})
	}
}

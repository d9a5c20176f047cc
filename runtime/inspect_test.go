package runtime_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	testbed "github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// gorun inspect, run outside the job, shows which ranks of a job wait, where, and for which other
// ranks.
func TestInspect(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), testbed.Gorun(t), "-np", "3", "-v", "-on-deadlock", "ignore", "-x", envProgram+"=wait", self)
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var said strings.Builder
	cmd.Stderr = &said
	require.NoError(t, cmd.Start())
	buffer := make([]byte, 4096)
	for text := ""; strings.Count(text, "blocked") < 3; {
		n, err := pipe.Read(buffer)
		require.NoError(t, err, text)
		text += string(buffer[:n])
	}
	jobs := finish(t, nil, testbed.Gorun(t), "inspect", "no-such-job")
	require.Equal(t, 125, jobs.code)
	job := regexp.MustCompile(`\d+-[0-9a-f]{8}`).FindAllString(jobs.errors, -1)
	require.NotEmpty(t, job, jobs.errors)
	var shown result
	for _, name := range job { // another job may run at the same time
		if shown = finish(t, nil, testbed.Gorun(t), "inspect", name); strings.Contains(shown.out, self) {
			r := finish(t, nil, testbed.Gorun(t), "inspect", "-json", name[:len(name)-1])
			require.Zero(t, r.code, r.errors)
			var report struct {
				Joined int
				Doing  []struct{ Waits []struct{ Op string } }
			}
			require.NoError(t, json.Unmarshal([]byte(r.out), &report))
			require.Equal(t, 3, report.Joined)
			require.Len(t, report.Doing, 3)
			require.Equal(t, "receive", report.Doing[0].Waits[0].Op)
			break
		}
	}
	require.Contains(t, shown.out, "3 ranks, 3 of them joined, 0 ended\n")
	require.Regexp(t, `(?m)^ranks 0-2 wait at program_report_test\.go:\d+ for each other$`, shown.out)
	require.Contains(t, shown.out, "ranks 0-2 of 3: each waits in 1 operation\n")
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	for _, c := range [][]string{{"inspect", "-wach"}, {"inspect", "a", "b"}} {
		require.Equal(t, 125, finish(t, nil, append([]string{testbed.Gorun(t)}, c...)...).code)
	}
	require.Contains(t, finish(t, nil, testbed.Gorun(t), "inspect", "-h").out, "usage: gorun inspect")
}

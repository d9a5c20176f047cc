package main_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
)

func TestMain(m *testing.M) { launch.Main(m) }

// TestPauseOfACutHost measures how long the survivors pause after the network cable of a host is pulled. The
// test logs the pause of each of several jobs.
func TestPauseOfACutHost(t *testing.T) {
	if os.Getenv("GORUN_SOAK") != "1" {
		t.Skip("a measurement: GORUN_SOAK=1")
	}
	for range 5 {
		c := nscluster.StartSSH(t, 4)
		on := c.Command("h0") // the job starts on host h0, which reaches the other hosts by network
		on.Args = append(on.Args, launch.Gorun(t), "-host", "h1:2,h2:2,h3:2", "-np", "4", "-spares", "2", "-rsh", c.SSH(), "-timeout", "60s",
			"-on-failure", "respawn", launch.Build(t, "survive", launch.Module+"/bench/survive"), "-pause", "1", "-cut")
		job := exec.CommandContext(t.Context(), on.Path, on.Args[1:]...)
		var errs strings.Builder
		job.Stderr = &errs
		out, err := job.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, job.Start())
		last := ""
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if last = lines.Text(); last == "cut" {
				c.Cut("h2")
			}
		}
		require.NoError(t, job.Wait(), errs.String())
		require.Contains(t, last, "1 losses of 4 ranks: pause of the slowest survivor: ")
		t.Log(last)
	}
}

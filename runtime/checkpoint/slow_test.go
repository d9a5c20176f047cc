//go:build linux && !portable

package checkpoint_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	testbed "github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/checkpoint"
)

// Environment variables of the program that saves.
const (
	envKind  = "CHECKPOINT_TEST_KIND"
	envMode  = "CHECKPOINT_TEST_MODE"
	envFloat = "CHECKPOINT_TEST_FLOATS"
)

func TestMain(m *testing.M) {
	if os.Getenv(envKind) != "" {
		runtime.Main(saveSteps)
		return
	}
	testbed.Main(m)
}

// saveSteps saves steps of a kind of data. Rank 0 prints the time of the first Save and the mean time of the others.
func saveSteps(w *runtime.World) error {
	const steps = 3
	mode, err := strconv.Atoi(os.Getenv(envMode))
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(os.Getenv(envFloat))
	if err != nil {
		return err
	}
	store, err := checkpoint.New(checkpoint.Config{Compression: checkpoint.Compression(mode)})
	if err != nil {
		return err
	}
	state := make([]float64, count)
	var first, rest time.Duration
	for step := range steps {
		kinds[os.Getenv(envKind)](state, uint64(10*w.Rank()+step))
		began := time.Now()
		if err := store.Save(w.Comm(), step, checkpoint.Slice(state)); err != nil {
			return err
		}
		if took := time.Since(began); step == 0 {
			first = took
		} else {
			rest += took / (steps - 1)
		}
	}
	if w.Rank() == 0 {
		fmt.Printf("%.0f MiB: first Save %v, the others %v\n", float64(count)*8/(1<<20), first.Round(time.Millisecond), rest.Round(time.Millisecond))
	}
	return nil
}

// overSlowLink runs saveSteps on two hosts. It returns the output, the MiB of the copies, and the
// MiB that were sent for them.
func overSlowLink(t *testing.T, c *nscluster.Cluster, kind string, mode checkpoint.Compression, floats int) (said string, copies, sent float64) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), testbed.Gorun(t), "-explain", "-host", "h0,h1", "-rsh", c.Rsh(), "-net", c.SlowNetwork().String(),
		"-x", envKind+"="+kind, "-x", fmt.Sprintf("%s=%d", envMode, mode), "-x", fmt.Sprintf("%s=%d", envFloat, floats), self)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	found := regexp.MustCompile(`rank 0: checkpoint: copies of ([\d.]+) MiB sent to another node as ([\d.]+) MiB`).FindStringSubmatch(string(out))
	require.NotNil(t, found, string(out))
	copies, err = strconv.ParseFloat(found[1], 64)
	require.NoError(t, err)
	sent, err = strconv.ParseFloat(found[2], 64)
	require.NoError(t, err)
	return string(out), copies, sent
}

// TestSlowLinkCompresses checks that data of the kind "field" are compressed over a link of 200
// Mbit/s, and that random data are not compressed.
func TestSlowLinkCompresses(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for a slow link")
	}
	c := nscluster.Start(t, 2)
	c.Slow("h0", "h1", nscluster.Slow{Rate: 200e6, Delay: time.Millisecond})
	const floats = 2 << 20
	_, copies, sent := overSlowLink(t, c, "field", checkpoint.CompressAuto, floats)
	require.Less(t, sent, copies/2)
	_, copies, sent = overSlowLink(t, c, "random", checkpoint.CompressAuto, floats)
	require.InDelta(t, copies, sent, 0.11)
}

// TestSaveOverSlowLinks prints the times of Saves, with and without compression, on links of 1 and 4 Gbit/s.
func TestSaveOverSlowLinks(t *testing.T) {
	if os.Getenv("GORUN_SOAK") != "1" {
		t.Skip("a measurement: GORUN_SOAK=1")
	}
	for _, rate := range []int{1e9, 4e9} {
		t.Run(fmt.Sprintf("%d Gbit/s", rate/1e9), func(t *testing.T) {
			c := nscluster.Start(t, 2)
			c.Slow("h0", "h1", nscluster.Slow{Rate: rate, Delay: 50 * time.Microsecond})
			for kind := range kinds {
				for range 3 {
					for name, mode := range map[string]checkpoint.Compression{"never": checkpoint.CompressNever, "auto": checkpoint.CompressAuto} {
						said, copies, sent := overSlowLink(t, c, kind, mode, 8<<20)
						t.Logf("%s, %s: %.1f of %.1f MiB sent, %s", kind, name, sent, copies, regexp.MustCompile("first Save.*").FindString(said))
					}
				}
			}
		})
	}
}

//go:build linux

package runtime

import (
	"os"
	"os/exec"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/monitor"
	"github.com/gorun-hpc/gorun/transport"
)

// policySleeper is a Sleeper that records the scheduling policy of the thread that calls Sleep.
type policySleeper struct {
	transport.Sleeper
	policy *uint32
}

func (s policySleeper) Sleep(uint32, int64) {
	if a, err := unix.SchedGetAttr(0, 0); err == nil {
		*s.policy = a.Policy
	}
}

// If a thread has inherited SCHED_BATCH from the monitor of Go's scheduler, it has the normal
// policy when its rank sleeps. The monitor keeps its policy until the process ends. Therefore the test
// runs in a process of its own.
func TestSleepRestoresThePolicy(t *testing.T) {
	const env = "GORUN_TEST_SLEEP_POLICY"
	if os.Getenv(env) == "" {
		command := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		command.Env = append(os.Environ(), env+"=1")
		out, err := command.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	monitor.Defer()
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	batch := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_BATCH}
	if err := unix.SchedSetAttr(0, &batch, 0); err != nil {
		t.Skipf("SCHED_BATCH: %v", err)
	}
	policy := uint32(unix.SCHED_BATCH)
	wordSleeper{policySleeper{policy: &policy}, new(memory), nil}.Sleep(0, 0)
	require.EqualValues(t, unix.SCHED_NORMAL, policy)
}

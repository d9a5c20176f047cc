package monitor

import (
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The thread that becomes a batch thread is the monitor's: no other one does, and no
// goroutine ever runs on it. The policy is for good, so a process of its own has it.
func TestDefer(t *testing.T) {
	const env = "GORUN_TEST_MONITOR"
	if os.Getenv(env) == "" {
		command := exec.Command(os.Args[0], "-test.run=^TestDefer$")
		command.Env = append(os.Environ(), env+"=1")
		out, err := command.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	Defer()
	batch := batchThreads(t)
	if len(batch) == 0 {
		t.Skip("the kernel refuses SCHED_BATCH")
	}
	require.Len(t, batch, 1)
	require.NotEqual(t, os.Getpid(), batch[0])
	require.NotContains(t, threadsOfGoroutines(), batch[0])
}

// batchThreads returns the threads of this process with the policy SCHED_BATCH.
func batchThreads(t *testing.T) []int {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(tasks, "*"))
	require.NoError(t, err)
	require.Greater(t, len(names), 1)
	var batch []int
	for _, name := range names {
		tid, err := strconv.Atoi(filepath.Base(name))
		require.NoError(t, err)
		a, err := unix.SchedGetAttr(tid, 0)
		require.NoError(t, err)
		if a.Policy == unix.SCHED_BATCH {
			batch = append(batch, tid)
		}
	}
	return batch
}

// threadsOfGoroutines returns the threads that run goroutines, when more of these are
// locked to a thread each than there were threads.
func threadsOfGoroutines() map[int]bool {
	const goroutines = 50
	threads := make(chan int)
	end := make(chan struct{})
	defer close(end)
	for range goroutines {
		go func() {
			goruntime.LockOSThread()
			defer goruntime.UnlockOSThread()
			threads <- unix.Gettid()
			<-end
		}()
	}
	seen := map[int]bool{}
	for range goroutines {
		seen[<-threads] = true
	}
	return seen
}

// The first thread after the process is the monitor's, also where numbers began again.
func TestThread(t *testing.T) {
	for _, tc := range []struct {
		names []string
		want  int
	}{
		{[]string{"100"}, 0},
		{nil, 0},
		{[]string{"100", "101", "102"}, 101},
		{[]string{"99", "100", "105", "103"}, 103},
		{[]string{"100", "7", "12"}, 7},
		{[]string{"100", "7", "name", "104"}, 104},
	} {
		dir := t.TempDir()
		for _, name := range tc.names {
			require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		}
		require.Equal(t, tc.want, thread(dir, 100), "%v", tc.names)
	}
	require.Zero(t, thread(filepath.Join(t.TempDir(), "none"), 100))
}

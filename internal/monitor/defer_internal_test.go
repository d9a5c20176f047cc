package monitor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// alone runs a test in a process of its own, because the threads of the process keep the changed policies. It
// reports whether the current process is the new process.
func alone(t *testing.T) bool {
	t.Helper()
	const env = "GORUN_TEST_MONITOR"
	if os.Getenv(env) != "" {
		return true
	}
	command := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	command.Env = append(os.Environ(), env+"=1")
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return false
}

// deferMonitor calls Defer and returns the monitor's thread.
func deferMonitor(t *testing.T) int {
	t.Helper()
	Defer()
	batch := batchThreads(t)
	if len(batch) == 0 {
		t.Skip("the kernel refuses SCHED_BATCH")
	}
	require.Len(t, batch, 1)
	require.NotEqual(t, os.Getpid(), batch[0])
	return batch[0]
}

// TestDefer checks that only the monitor's thread becomes a batch thread, and that no goroutine
// runs on it.
func TestDefer(t *testing.T) {
	if alone(t) {
		require.NotContains(t, threadsOfGoroutines(), deferMonitor(t))
	}
}

// TestSlack checks that the monitor's thread alone has a longer timer slack, if the process may
// set it.
func TestSlack(t *testing.T) {
	if !alone(t) {
		return
	}
	monitor := deferMonitor(t)
	slack, err := os.ReadFile(fmt.Sprintf("/proc/%d/timerslack_ns", monitor))
	if err != nil {
		t.Skipf("the timer slack of a thread: %v", err)
	}
	require.Equal(t, fmt.Sprintln(monitorSlack), string(slack))
	for tid := range threadsOfGoroutines() {
		slack, err := os.ReadFile(fmt.Sprintf("/proc/%d/timerslack_ns", tid))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintln(usualSlack), string(slack))
	}
}

// TestRestore checks that Restore turns a thread with the policy and the timer slack of the monitor into a normal
// thread with the same nice value. The monitor's thread must keep its policy.
func TestRestore(t *testing.T) {
	if !alone(t) {
		return
	}
	monitor := deferMonitor(t)
	var pipe [2]int
	require.NoError(t, unix.Pipe(pipe[:]))
	var blocked sync.WaitGroup
	for range 3 * goruntime.GOMAXPROCS(0) {
		blocked.Go(func() { _, _ = unix.Read(pipe[0], make([]byte, 1)) })
	}
	require.Eventually(t, func() bool { return len(batchThreads(t)) > 1 }, 10*time.Second, time.Millisecond,
		"the monitor starts threads")
	require.NoError(t, unix.Close(pipe[1])) // all readers get the end of file
	blocked.Wait()

	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	require.NoError(t, unix.Setpriority(unix.PRIO_PROCESS, 0, 3))
	change(0, unix.SCHED_NORMAL, unix.SCHED_BATCH)
	require.NoError(t, unix.Prctl(unix.PR_SET_TIMERSLACK, monitorSlack, 0, 0, 0))
	require.Contains(t, batchThreads(t), unix.Gettid())
	Restore()
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	require.NoError(t, err)
	require.Equal(t, usualSlack, slack)
	require.NotContains(t, batchThreads(t), unix.Gettid())
	require.Contains(t, batchThreads(t), monitor)
	a, err := unix.SchedGetAttr(0, 0)
	require.NoError(t, err)
	require.EqualValues(t, 3, a.Nice)
}

// TestForeignPolicy checks that a process that was started with SCHED_BATCH keeps this policy:
// Defer and Restore change nothing.
func TestForeignPolicy(t *testing.T) {
	if !alone(t) {
		return
	}
	for _, tid := range threads(t) {
		require.True(t, change(tid, unix.SCHED_NORMAL, unix.SCHED_BATCH))
	}
	Defer()
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	Restore()
	require.Contains(t, batchThreads(t), unix.Gettid())
}

// threads returns the threads of this process.
func threads(t *testing.T) (all []int) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(tasks, "*"))
	require.NoError(t, err)
	require.Greater(t, len(names), 1)
	for _, name := range names {
		tid, err := strconv.Atoi(filepath.Base(name))
		require.NoError(t, err)
		all = append(all, tid)
	}
	return all
}

// batchThreads returns the threads of this process with the policy SCHED_BATCH.
func batchThreads(t *testing.T) (batch []int) {
	t.Helper()
	for _, tid := range threads(t) {
		a, err := unix.SchedGetAttr(tid, 0)
		if errors.Is(err, unix.ESRCH) {
			continue // the thread has ended
		}
		require.NoError(t, err)
		if a.Policy == unix.SCHED_BATCH {
			batch = append(batch, tid)
		}
	}
	return batch
}

// threadsOfGoroutines returns the threads that run goroutines. It finds them by locking goroutines to threads.
// It starts 50 such goroutines, under the assumption that there are fewer threads.
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

// TestThread checks that thread returns the lowest thread ID above the process ID. If there is no such ID, because
// thread IDs have wrapped around, thread returns the lowest ID of another thread.
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

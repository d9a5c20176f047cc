package main_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// stopped is a shell program that prints its process ID and stops itself with SIGSTOP.
const stopped = `echo $$; kill -STOP $$; exec sleep 1000`

// awaitStopped waits until the process with this ID is stopped.
func awaitStopped(t *testing.T, pid string) {
	t.Helper()
	require.Eventually(t, func() bool { return isStopped(t, pid) }, limit, 1)
}

// isStopped reports whether a process is stopped.
func isStopped(t *testing.T, pid string) bool {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	require.NoError(t, err)
	return bytes.Contains(stat, []byte(") T "))
}

// At the end of a job a stopped rank is continued, so that it handles SIGTERM and need not be
// killed after the grace period.
func TestStoppedRanksEndWithTheJob(t *testing.T) {
	t.Run("interrupted", func(t *testing.T) {
		r := command(t, []string{"GORUN_CONTAIN=scan"}, "-np", "2", "-grace", "10m", "sh", "-c", stopped)
		out := r.lines(t)
		require.NoError(t, r.Start())
		for range 2 {
			pid, err := out.ReadString('\n')
			require.NoError(t, err)
			awaitStopped(t, strings.TrimSpace(pid))
		}
		require.NoError(t, r.Process.Signal(unix.SIGTERM))
		require.Equal(t, 143, r.wait(t))
	})
	t.Run("failed", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, unix.Mkfifo(filepath.Join(dir, "pid"), 0o600))
		got := gorun(t, nil, "-np", "2", "-grace", "10m", "sh", "-c", `cd `+dir+`
			if [ $GORUN_RANK = 0 ]; then echo $$ > pid; kill -STOP $$; exec sleep 1000; fi
			read other < pid; until grep -q ') T ' /proc/$other/stat; do :; done; exit 3`)
		require.Equal(t, 3, got.code, got.err)
		require.Contains(t, got.err, "first failure: rank 1 ")
	})
}

// Repeated requests to end a job do not start the grace period again.
func TestGraceBeginsOnce(t *testing.T) {
	r, _ := ready(t, 2, "ready", nil, []string{"-np", "2", "-grace", "200ms", "sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"})
	over, told := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(told)
		for {
			select {
			case <-over:
				return
			default:
				_ = r.Process.Signal(unix.SIGTERM)
				_, _ = unix.Poll(nil, 10)
			}
		}
	}()
	code := r.wait(t)
	close(over)
	<-told
	require.Equal(t, 143, code)
}

// Each SIGTERM is passed on to the ranks. A second SIGTERM does not kill the ranks at once.
func TestSecondTermIsLikeTheFirst(t *testing.T) {
	r, out := ready(t, 2, "ready", nil, helper([]string{"-np", "2", "-grace", "10m"}, "signals", "SIGUSR1"))
	for range 3 {
		require.NoError(t, r.Process.Signal(unix.SIGTERM))
		awaitLines(t, out, 2, "SIGTERM")
	}
	require.NoError(t, r.Process.Signal(unix.SIGUSR1))
	awaitLines(t, out, 2, "SIGUSR1")
	require.Zero(t, r.wait(t))
}

// gorun sends a signal to all processes of a rank's process group.
func TestSignalsAreForTheGroupOfARank(t *testing.T) {
	r, out := ready(t, 2, "ready", nil, []string{
		"-np", "2", "sh", "-c",
		`trap : USR1; sh -c 'trap "echo heard; exit" USR1; echo ready; while :; do sleep 0.01; done'; true`,
	})
	require.NoError(t, r.Process.Signal(unix.SIGUSR1))
	awaitLines(t, out, 2, "heard")
	require.Zero(t, r.wait(t))
}

// An abort ends the job with a nonzero exit code, even if the code of the abort is zero modulo 256.
func TestAbortWithoutACode(t *testing.T) {
	for code, want := range map[string]int{"0": 1, "256": 1, "7": 7} {
		got := gorun(t, nil, helper([]string{"-np", "2"}, "abort", "1", code)...)
		require.Equal(t, want, got.code, got.err)
		require.Contains(t, got.err, "rank 1 ")
		require.Contains(t, got.err, "aborted the job with code "+code)
	}
}

// gorun sends the terminating signal to the other ranks, but not to the rank that aborts the job.
func TestWhoAbortsIsNotTold(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "told"), 0o600))
	got := gorun(t, nil, helper([]string{"-np", "2"}, "spared", "0", filepath.Join(dir, "told"))...)
	require.Equal(t, 9, got.code, got.err)
	require.Equal(t, "user defined signal 1\n", got.out)
}

// If a job times out after a failure, the timeout determines the exit code.
func TestTimeoutAfterAFailure(t *testing.T) {
	got := gorun(t, nil, "-np", "2", "-on-failure", "continue", "-timeout", "1s", "sh", "-c", "[ $GORUN_RANK = 0 ] || exit 3; exec sleep 1000")
	require.Equal(t, 124, got.code, got.err)
}

// If gorun is killed, the ranks end even if its watchdog was killed before.
func TestRanksEndWithGorunAlone(t *testing.T) {
	r, _ := ready(t, 2, "ready", []string{"GORUN_CONTAIN=scan"}, helper([]string{"-np", "2"}, "signals"))
	for _, dog := range watchdogs(r.Process.Pid) {
		kill9(dog)
		await(t, dog)
	}
	kill9(r.Process.Pid)
	require.Equal(t, 137, r.wait(t))
	gone(t, r)
}

// The environment of a rank has each variable only once, so that getenv(3) finds the value that -x or -wdir
// sets.
func TestVariablesAreThereOnce(t *testing.T) {
	r := command(t, []string{"OLD=old"}, "-x", "OLD=new", "-wdir", "/", "env")
	require.NoError(t, r.Start())
	require.Zero(t, r.wait(t), r.err.String())
	seen := map[string]string{}
	for line := range strings.Lines(r.out.String()) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		require.NotContains(t, seen, name)
		seen[name] = value
	}
	require.Equal(t, "new", seen["OLD"])
	require.Equal(t, "/", seen["PWD"])
}

// If the report cannot be renamed to its final name, gorun fails and removes the temporary file.
func TestReportWhosePlaceIsTaken(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "r.json")
	got := gorun(t, nil, "-report", name, "mkdir", name)
	require.Equal(t, 125, got.code, got.err)
	require.Contains(t, got.err, "-report: ")
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Equal(t, []string{name}, names)
}

// If several host names denote one node, the local ranks on that node are in the order of the global ranks.
func TestRanksOfANodeInTheirOrder(t *testing.T) {
	got := gorun(t, nil, "-host", "same1,a,same2", "-rsh", rsh(t), "-np", "6", "sh", "-c", "echo $GORUN_RANK $GORUN_LOCAL_RANK")
	require.Zero(t, got.code, got.err)
	var want []string
	for rank, local := range []int{0, 0, 1, 2, 1, 3} {
		want = append(want, fmt.Sprintf("%d %d", rank, local))
	}
	require.ElementsMatch(t, want, strings.Split(strings.TrimSpace(got.out), "\n"))
}

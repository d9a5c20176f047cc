package main_test

import (
	"bufio"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// lines returns a reader of the run's standard output. It must be called before Start.
func (r *run) lines(t *testing.T) *bufio.Reader {
	t.Helper()
	r.Stdout = nil
	out, err := r.StdoutPipe()
	require.NoError(t, err)
	return bufio.NewReader(out)
}

// ready starts gorun and waits until it has printed the line word as many times as the argument ranks says.
func ready(t *testing.T, ranks int, word string, env, args []string) (*run, *bufio.Reader) {
	t.Helper()
	r := command(t, env, args...)
	out := r.lines(t)
	require.NoError(t, r.Start())
	awaitLines(t, out, ranks, word)
	return r, out
}

// gorun passes signals on to all ranks. If the ranks then exit with code 0, gorun also exits with code 0.
func TestSignalsArePassedOn(t *testing.T) {
	for _, contain := range contains {
		r, out := ready(t, 3, "ready", []string{"GORUN_CONTAIN=" + contain}, helper([]string{"-np", "3"}, "signals", "SIGTERM"))
		for _, sig := range []unix.Signal{unix.SIGUSR1, unix.SIGUSR2, unix.SIGCONT, unix.SIGINT} {
			require.NoError(t, r.Process.Signal(sig))
			awaitLines(t, out, 3, unix.SignalName(sig))
		}
		require.NoError(t, r.Process.Signal(unix.SIGTERM))
		awaitLines(t, out, 3, "SIGTERM")
		require.Zero(t, r.wait(t), "ranks that end well on a signal make a good end")
	}
}

// SIGINT, SIGTERM and SIGHUP end the job. The exit code is 128 plus the number of the signal, and gorun
// reports no rank as failed.
func TestInterruptEndsTheJob(t *testing.T) {
	for sig, code := range map[unix.Signal]int{unix.SIGINT: 130, unix.SIGTERM: 143, unix.SIGHUP: 129} {
		r, _ := ready(t, 2, "ready", nil, []string{"-np", "2", "sh", "-c", "echo ready; exec sleep 1000"})
		require.NoError(t, r.Process.Signal(sig))
		require.Equal(t, code, r.wait(t))
		require.Contains(t, r.err.String(), "interrupted by "+unix.SignalName(sig))
		require.NotContains(t, r.err.String(), "first failure")
	}
}

// Ranks that ignore the terminating signal are killed after the grace period.
func TestGraceThenKill(t *testing.T) {
	for _, contain := range contains {
		r, _ := ready(t, 2, "ready", []string{"GORUN_CONTAIN=" + contain},
			[]string{"-np", "2", "-grace", "50ms", "sh", "-c", "trap '' INT TERM; echo ready; while :; do sleep 0.1; done"})
		require.NoError(t, r.Process.Signal(unix.SIGINT))
		require.Equal(t, 130, r.wait(t))
		require.Empty(t, launch.Marked(r.mark))
	}
}

// A second SIGINT kills the ranks without waiting for the grace period.
func TestSecondInterruptKillsAtOnce(t *testing.T) {
	r, out := ready(t, 2, "ready", nil, helper([]string{"-np", "2", "-grace", "10m"}, "signals"))
	require.NoError(t, r.Process.Signal(unix.SIGINT))
	awaitLines(t, out, 2, "SIGINT")
	require.NoError(t, r.Process.Signal(unix.SIGINT))
	require.Equal(t, 130, r.wait(t))
}

// The second SIGINT kills the ranks at once although the job was already ending for another reason.
func TestSecondInterruptOfAnEndingJob(t *testing.T) {
	const program = `trap 'echo INT' INT; trap 'echo TERM' TERM; echo ready
		read go; while [ "$go" != fail ]; do sleep 0.01; done; exit 3`
	for name, code := range map[string]int{"a failed rank": 3, "a TERM": 143} {
		t.Run(name, func(t *testing.T) {
			r := command(t, nil, "-np", "2", "-grace", "10m", "sh", "-c", program)
			out := r.lines(t)
			stdin, err := r.StdinPipe()
			require.NoError(t, err)
			require.NoError(t, r.Start())
			awaitLines(t, out, 2, "ready")
			left := 2
			if code == 3 {
				_, err = stdin.Write([]byte("fail\n"))
				left--
			} else {
				_, err = stdin.Write([]byte("\n"))
				require.NoError(t, r.Process.Signal(unix.SIGTERM))
			}
			require.NoError(t, err)
			awaitLines(t, out, left, "TERM")
			require.NoError(t, r.Process.Signal(unix.SIGINT))
			awaitLines(t, out, left, "INT")
			require.NoError(t, r.Process.Signal(unix.SIGINT))
			require.Equal(t, code, r.wait(t), r.err.String())
		})
	}
}

// awaitStop waits until gorun has stopped.
func (r *run) awaitStop(t *testing.T) {
	t.Helper()
	var status unix.WaitStatus
	_, err := unix.Wait4(r.Process.Pid, &status, unix.WUNTRACED, nil)
	require.NoError(t, err)
	require.True(t, status.Stopped())
}

// SIGTSTP stops the ranks and gorun, and SIGCONT continues both.
func TestStopAndContinue(t *testing.T) {
	for _, contain := range contains {
		r, out := ready(t, 2, "ready", []string{"GORUN_CONTAIN=" + contain}, helper([]string{"-np", "2"}, "signals", "SIGCONT"))
		require.NoError(t, r.Process.Signal(unix.SIGTSTP))
		r.awaitStop(t)
		for _, pid := range descendants(t, r.Process.Pid, helperPrefix) {
			awaitStopped(t, itoa(pid)) // only the parent of the rank could wait for it
		}
		require.NoError(t, r.Process.Signal(unix.SIGCONT))
		awaitLines(t, out, 2, "SIGCONT")
		require.Zero(t, r.wait(t))
	}
}

// SIGQUIT makes gorun print what each rank waits for. gorun passes a second SIGQUIT within a second on to the
// ranks.
func TestQuitAsksWhatRanksAreBlockedIn(t *testing.T) {
	r := command(t, nil, helper([]string{"-np", "3"}, "wait")...)
	out := r.lines(t)
	r.Stderr = nil
	errors, err := r.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, r.Start())
	awaitLines(t, out, 3, "waiting")
	require.NoError(t, r.Process.Signal(unix.SIGQUIT))
	seen := map[string]bool{}
	for lines := bufio.NewScanner(errors); len(seen) < 4 && lines.Scan(); {
		seen[lines.Text()] = true
	}
	require.Equal(t, map[string]bool{
		"gorun: what the ranks are doing (3 of 3 have joined):": true,
		"gorun: rank 0: blocked in Recv from rank 3":            true,
		"gorun: rank 1: blocked in Recv from rank 3":            true,
		"gorun: rank 2: blocked in Recv from rank 3":            true,
	}, seen)
	// A SIGQUIT after more than a second has the same effect as the first SIGQUIT.
	<-time.After(1100 * time.Millisecond)
	require.NoError(t, r.Process.Signal(unix.SIGQUIT))
	lines := bufio.NewScanner(errors)
	for again := 0; again < 4; again++ {
		require.True(t, lines.Scan())
		require.True(t, seen[lines.Text()], lines.Text())
	}
	// gorun passes a SIGQUIT that follows at once on to the ranks. The test repeats it, because two pending
	// signals may merge into one.
	go func() {
		for lines.Scan() {
			continue
		}
	}()
	require.Equal(t, 2, r.waitSignaling(t, unix.SIGQUIT), "a Go program ends with 2 on SIGQUIT")
}

// At a timeout, gorun prints what each rank waits for, and then ends the job (as in MPICH's test
// init/timeout.c).
func TestTimeoutAsksBeforeItKills(t *testing.T) {
	t.Parallel()
	got := gorun(t, nil, helper([]string{"-np", "2", "-timeout", "5s"}, "wait")...) // long, so that the ranks have joined
	require.Equal(t, 124, got.code)
	for _, want := range []string{"timeout after 5s", "rank 0: blocked in Recv from rank 3", "rank 1: blocked in Recv from rank 3", "exit code 124"} {
		require.Contains(t, got.err, want)
	}
	require.NotContains(t, got.err, "first failure")
}

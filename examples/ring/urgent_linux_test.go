package main_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// TestUrgentSignalsDisturbNoRank checks that SIGURG does not disturb a job. Go's scheduler
// preempts goroutines with SIGURG. Some container supervisors forward their own SIGURG signals to
// the process that they have started (argoproj/argo-workflows, "SIGURG").
func TestUrgentSignalsDisturbNoRank(t *testing.T) {
	const enough, laps = 1000, 100
	for _, transport := range []string{"shm", "rdma"} {
		mark := fmt.Sprintf("GORUN_TEST_URGENT=%d-%s", os.Getpid(), transport)
		command := []string{launch.Gorun(t), "-np", "4", "-transport", transport, launch.Build(t, "program", "."), "-laps", fmt.Sprint(laps)}
		// One job may end before enough signals were sent.
		for sent := 0; sent < enough; {
			done, total := make(chan struct{}), make(chan int)
			go func() { total <- urge(mark, 5, done) }()
			r := launch.Run(t, []string{mark}, command...)
			close(done)
			sent += <-total
			require.Zero(t, r.Code, r.Errors)
			require.Contains(t, r.Out, fmt.Sprintf("%d hops around 4 ranks, sum %d, ", 4*laps, 6*laps))
			require.Empty(t, r.Errors)
		}
	}
}

// urge repeatedly sends SIGURG to all processes with a mark, until done is closed. urge returns the number
// of rounds in which it sent the signal to at least as many processes as the argument all says.
func urge(mark string, all int, done <-chan struct{}) int {
	const pace = 100 * time.Microsecond // gives the job time to make progress
	var pids []int
	count := 0
	for round := 0; ; round++ {
		select {
		case <-done:
			return count
		case <-time.After(pace):
		}
		if len(pids) < all || round%100 == 0 {
			pids = launch.Marked(mark)
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGURG) // the process may have ended
		}
		if len(pids) >= all {
			count++
		}
	}
}

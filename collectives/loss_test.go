//go:build !portable

package collectives_test

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/runtime"
)

// envLoss makes the test binary a rank of a job, and selects the program that the rank runs.
const envLoss = "GORUN_TEST_LOSS"

// TestMain runs a program of a rank instead of the tests if envLoss names one.
func TestMain(m *testing.M) {
	switch os.Getenv(envLoss) {
	case "lose":
		runtime.Main(loseRankTwo)
	case "leave":
		runtime.Main(leaveOut)
	case "nodes":
		runtime.Main(operateOnNodes)
	}
	code := m.Run()
	launch.Clean()
	os.Exit(code)
}

// endings are operations in which rank 2 takes part, so that its loss must end them.
var endings = []struct {
	name string
	run  func(c *runtime.Comm) error
}{
	{"barrier", collectives.Barrier},
	{"bcast from the lost", func(c *runtime.Comm) error { return collectives.Bcast(c, make([]int, 3), 2) }},
	{"large bcast from the lost", func(c *runtime.Comm) error { return collectives.Bcast(c, make([]int, 100_000), 2) }},
	{"allreduce", func(c *runtime.Comm) error {
		return collectives.AllReduce(c, make([]int, 3), make([]int, 3), collectives.Sum)
	}},
	{"large allreduce", func(c *runtime.Comm) error {
		return collectives.AllReduce(c, make([]int, 100_000), make([]int, 100_000), collectives.Sum)
	}},
	{"allgather", func(c *runtime.Comm) error {
		return collectives.AllGather(c, make([]int, 3), make([]int, 3*c.Size()))
	}},
	{"alltoall", func(c *runtime.Comm) error {
		return collectives.AllToAll(c, make([]int, c.Size()), make([]int, c.Size()))
	}},
	{"allreduce of values", func(c *runtime.Comm) error {
		_, err := collectives.AllReduceValue(c, "", func(a, b string) string { return a + b })
		return err
	}},
	{"nonblocking allreduce", func(c *runtime.Comm) error {
		_, err := collectives.IAllReduce(c, make([]int, 3), make([]int, 3), collectives.Sum).Wait()
		return err
	}},
	{"dup", func(c *runtime.Comm) error { _, err := c.Dup(); return err }},
}

// loseRankTwo kills rank 2. Every other rank then calls each operation of endings, each on a
// communicator of its own, and requires the loss of rank 2 as its error.
func loseRankTwo(w *runtime.World) error {
	comms := make([]*runtime.Comm, len(endings))
	for i := range comms {
		var err error
		if comms[i], err = w.Comm().Dup(); err != nil {
			return err
		}
		if err := endings[i].run(comms[i]); err != nil {
			return err
		}
	}
	if w.Rank() == 2 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	for i, e := range endings {
		for range 2 { // the second call is refused at once
			err := e.run(comms[i])
			var lost *runtime.PeerError
			if !errors.As(err, &lost) || lost.Rank != 2 || !errors.Is(err, runtime.ErrCommBroken) {
				return fmt.Errorf("rank %d, %s: want the loss of rank 2 and a broken communicator, got %w", w.Rank(), e.name, err)
			}
		}
		if err := runtime.Send(comms[i], []int{1}, 2, 1); !lossOf(err, 2) {
			return fmt.Errorf("rank %d, send after %s: want the loss of rank 2, got %w", w.Rank(), e.name, err)
		}
	}
	return w.Handled(2)
}

// leaveOut is a program in which rank 1 does not call the last barrier.
func leaveOut(w *runtime.World) error {
	if err := collectives.Barrier(w.Comm()); err != nil || w.Rank() == 1 {
		return err
	}
	return collectives.Barrier(w.Comm())
}

// One rank returns from its program while the other ranks wait in a collective operation. The report
// of the hanging job names that rank, the operation, and the source line of the operation.
func TestReportNamesTheRankThatLeft(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	r := launch.Run(t, nil, launch.Gorun(t), "-np", "4", "-on-deadlock", "ignore", "-timeout", "4s", "-x", envLoss+"=leave", self)
	require.Equal(t, 124, r.Code, r.Errors)
	require.Regexp(t, `(?m)^gorun: ranks 0,2-3 of 4: each .*\ngorun: {3}in world, barrier, call 2, at loss_test\.go:\d+$`, r.Errors)
	require.Contains(t, r.Errors, "gorun: rank 1 has left its program, and ranks 0,2-3 wait for it\n")
}

func lossOf(err error, rank int) bool {
	var lost *runtime.PeerError
	return errors.As(err, &lost) && lost.Rank == rank
}

// Timing decides which members detect the loss of a rank, and which are notified of the broken
// communicator. All members get both errors. A second call of the operation returns both errors, too.
func TestLossIsTheSameForEveryMember(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for _, transport := range []string{"auto", "rdma"} {
		r := launch.Run(t, nil, launch.Gorun(t), "-np", "5", "-transport", transport, "-on-failure", "continue", "-timeout", "60s", "-x", envLoss+"=lose", self)
		require.Zero(t, r.Code, "%s: %s", transport, r.Errors)
	}
}

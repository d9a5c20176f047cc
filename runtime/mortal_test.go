package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/localjob"
	"github.com/gorun-hpc/gorun/runtime"
)

// errTestKill is the cause with which a test kills ranks in this process.
var errTestKill = errors.New("killed by the test")

// hangLimit is the timeout that ends a job that hangs.
const hangLimit = time.Minute

// mortal is a rank that may die.
type mortal struct {
	*runtime.World
	// die ends the rank. If the rank is a process, die kills the process immediately. If the rank
	// is a goroutine of this process, die ends the rank's part in the job, and returns the error
	// that the rank must return.
	die func() error
}

// failureProgram is a program of a job in which some ranks die.
type failureProgram struct {
	name  string
	ranks int
	// dead is the number of ranks that die.
	dead int
	main func(mortal) error
}

// run runs the program as one rank, and then waits until this rank has been notified of every
// death.
func (p *failureProgram) run(m mortal) error {
	watch, err := m.Comm().Dup()
	if err != nil {
		return err
	}
	if _, err := m.Comm().Agree(0); err != nil { // ends after all members have created watch
		return err
	}
	if err := p.main(m); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	for {
		lost := watch.Ack()
		if lost.Size() == p.dead {
			break
		}
		var peer *runtime.PeerError
		if _, err := runtime.Recv[byte](watch, nil, runtime.AnySource, 0); !errors.As(err, &peer) {
			return fmt.Errorf("%s: wait for death %d: %w", p.name, lost.Size()+1, err)
		}
	}
	for _, rank := range watch.Ack().Ranks() {
		if err := m.Handled(rank); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stdout, "rank %d went on\n", m.Rank())
	return nil
}

// runHere runs the program on ranks in this process.
func (p *failureProgram) runHere(t *testing.T) {
	t.Helper()
	var job localjob.Job
	ready := make(chan struct{})
	job, err := localjob.Start(localjob.Config{Ranks: p.ranks, Main: func(world any) error {
		<-ready
		w := world.(*runtime.World)
		return p.run(mortal{w, func() error {
			job.Kill(w.Rank(), errTestKill)
			return errTestKill
		}})
	}})
	require.NoError(t, err)
	close(ready)
	ctx, cancel := context.WithTimeout(t.Context(), hangLimit)
	defer cancel()
	require.NoError(t, job.Wait(ctx))
}

// runThere runs the program on processes, which kill themselves.
func (p *failureProgram) runThere(t *testing.T, options ...string) {
	t.Helper()
	r := launch(t, p.ranks, "mortal "+p.name, append(options, "-on-failure", "continue")...)
	require.Zero(t, r.code, r.errors)
	living := 0
	for rank := range p.ranks {
		if line := fmt.Sprintf("rank %d went on\n", rank); containsLine(r.out, line) {
			living++
		}
	}
	require.Equal(t, p.ranks-p.dead, living, r.out+r.errors)
}

// killed ends the process as kill -9 does.
func killed() error {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // until the signal arrives
}

// isLoss returns an error unless err is the loss of the given rank, or of any rank if rank is
// negative.
func isLoss(err error, rank int) error {
	var peer *runtime.PeerError
	if !errors.As(err, &peer) || rank >= 0 && peer.Rank != rank {
		return fmt.Errorf("want the loss of rank %d, got %w", rank, err)
	}
	return nil
}

// meet is a collective operation that completes only after all members have begun it.
func meet(c *runtime.Comm) error {
	d, err := c.Dup()
	if err != nil {
		return err
	}
	return d.Close()
}

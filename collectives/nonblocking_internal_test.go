package collectives

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/internal/flight"
	"github.com/gorun-hpc/gorun/runtime"
)

// caught returns a function that calls run and turns a panic into an error, as a program does that recovers from a
// panic in Wait. (Local ends the job if the function of a request panics.)
func caught(run func(c *runtime.Comm) error) func(c *runtime.Comm) error {
	return func(c *runtime.Comm) (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("panic: %v", v)
			}
		}()
		return run(c)
	}
}

// failing returns an operator that panics when size ranks have started the operation, and the function started. Each
// rank calls started when it has started the operation.
func failing(size int) (op Op, started func()) {
	var wg sync.WaitGroup
	wg.Add(size)
	return Func(func(int, int) int {
		wg.Wait()
		panic("division by zero")
	}, true), wg.Done
}

// If the operator of a nonblocking operation panics in Wait and the program continues, the operation has ended, the
// communicator is broken, and the other members do not wait for ever.
func TestNonblockingOperatorsThatPanic(t *testing.T) {
	fails, started := failing(3)
	require.NoError(t, runtime.Local(3, func(w *runtime.World) error {
		c, err := w.Comm().Dup()
		if err != nil {
			return err
		}
		g, _, err := find(c)
		if err != nil {
			return err
		}
		recorded := kernel.Bytes(make([]uint64, flight.Bytes/8)) // aligned to 8 bytes
		g.recorder = flight.New(recorded)
		s := newStarted(g.rank, g.size)
		s.call = *allReduce(new(call), c, []int{1}, []int{0}, fails)
		s.fn = caught(s.run)
		r := s.launch()
		started()
		if _, err := r.Wait(); err == nil { // a panic at some members, the end of the communicator at the others
			return errors.New("no error")
		}
		if err := Barrier(c); !errors.Is(err, runtime.ErrCommBroken) {
			return fmt.Errorf("not broken: %w", err)
		}
		require.False(t, flying{g}.underWay())
		log, err := flight.Read(recorded)
		require.NoError(t, err)
		require.Len(t, log.Operations, 1)
		require.Equal(t, flight.Failed, log.Operations[0].State)
		return nil
	}))
}

// If the operator of a nonblocking operation on an Intercomm panics in Wait and the program continues, the Intercomm is
// broken for both groups.
func TestNonblockingInterOperatorsThatPanic(t *testing.T) {
	fails, started := failing(3)
	require.NoError(t, runtime.Local(3, func(w *runtime.World) error {
		group := w.Rank() / 2 // ranks 0 and 1, and rank 2
		c, err := w.Comm().Split(group, 0)
		if err != nil {
			return err
		}
		inter, err := c.CreateIntercomm(0, w.Comm(), 2-2*group, 0)
		if err != nil {
			return err
		}
		k := interAllReduceCall(inter, []int{1}, []int{0}, fails)
		x := k.launch()
		cross := caught(func(across *runtime.Comm) error { return k.cross(x, across) })
		r := runtime.NewRequestUsing(inter.Private(), nil, nil, cross)
		started()
		if _, err := r.Wait(); err == nil {
			return errors.New("no error")
		}
		if err := InterBarrier(inter); !errors.Is(err, runtime.ErrCommBroken) {
			return fmt.Errorf("not broken: %w", err)
		}
		return nil
	}))
}

// A persistent operation that is started on a broken communicator does not count as one in progress. Otherwise the
// timer of flies (watch.go) would never stop.
func TestPersistentOnABrokenCommunicator(t *testing.T) {
	require.NoError(t, runtime.Local(1, func(w *runtime.World) error {
		c, err := w.Comm().Dup()
		if err != nil {
			return err
		}
		g, _, err := find(c)
		if err != nil {
			return err
		}
		p := BarrierInit(c)
		defer p.Close()
		c.Break(errors.New("broken by the test"))
		for range 2 {
			err := p.Start()
			if err == nil {
				_, err = p.Wait()
			}
			if !errors.Is(err, runtime.ErrCommBroken) {
				return fmt.Errorf("not refused: %w", err)
			}
		}
		require.False(t, flying{g}.underWay())
		require.False(t, g.flies.awake.Load())
		g.started.Add(1) // as if the communicator had broken while launch counted an operation
		require.False(t, flying{g}.underWay())
		return nil
	}))
}

package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/checkpoint"
)

// endurance is a program that computes in steps, saves its state, and panics at random steps.
type endurance struct {
	ranks, steps int
	panics       atomic.Int32 // the panics that are still to come
	roles        [3]atomic.Int32
	final        []int64 // the final state of each rank
}

// main is the function that LocalRespawn runs.
func (e *endurance) main(w *runtime.World) error {
	store, err := checkpoint.New(checkpoint.Config{})
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(uint64(w.Rank()), uint64(w.Generation())))
	return w.Resume(func(w *runtime.World) error {
		e.roles[w.Role()].Add(1)
		state := []int64{int64(w.Rank() + 1)}
		step := -1
		part := checkpoint.Slice(state)
		if w.Generation() > 0 {
			if step, err = e.restore(w, &store, part); err != nil {
				return err
			}
		}
		for step++; step < e.steps; step++ {
			if random.IntN(7) == 0 && e.panics.Add(-1) >= 0 {
				panic(fmt.Sprintf("rank %d at step %d", w.Rank(), step))
			}
			if err := e.step(w, state, step); err != nil {
				return err
			}
			if err := store.Save(w.Comm(), step, part); err != nil {
				return err
			}
		}
		e.final[w.Rank()] = state[0]
		return nil
	})
}

// restore returns the step of the restored state, or -1 if there is none. If a rank and the
// keeper of its copy are lost one after the other, all ranks begin again.
func (e *endurance) restore(w *runtime.World, store **checkpoint.Store, part checkpoint.Part) (int, error) {
	step, found, err := (*store).Restore(w.Comm(), part)
	if errors.Is(err, checkpoint.ErrLost) {
		*store, err = checkpoint.New(checkpoint.Config{})
	}
	if !found {
		step = -1
	}
	return step, err
}

// step computes the next state from the states of all ranks.
func (e *endurance) step(w *runtime.World, state []int64, step int) error {
	n := w.Size()
	from := []int64{0, 0}
	mine := []int64{state[0], int64(w.Generation())}
	if _, err := runtime.SendRecv(w.Comm(), mine, (w.Rank()+1)%n, step, from, (w.Rank()+n-1)%n, step); err != nil {
		return err
	}
	if from[1] != int64(w.Generation()) {
		return fmt.Errorf("a message of generation %d in generation %d", from[1], w.Generation())
	}
	sum := []int64{0}
	if err := collectives.AllReduce(w.Comm(), state, sum, collectives.Sum); err != nil {
		return err
	}
	state[0] = state[0]*31 + from[0]*7 + sum[0]
	return nil
}

// expected returns the states at the end, computed without ranks.
func (e *endurance) expected() []int64 {
	states := make([]int64, e.ranks)
	for i := range states {
		states[i] = int64(i + 1)
	}
	for range e.steps {
		next, sum := make([]int64, e.ranks), int64(0)
		for _, s := range states {
			sum += s
		}
		for i := range states {
			next[i] = states[i]*31 + states[(i+e.ranks-1)%e.ranks]*7 + sum
		}
		states = next
	}
	return states
}

func TestLocalRespawn(t *testing.T) {
	for _, ranks := range []int{1, 2, 3, 5} {
		t.Run(fmt.Sprint(ranks), func(t *testing.T) {
			e := &endurance{ranks: ranks, steps: 20, final: make([]int64, ranks)}
			e.panics.Store(6)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			require.NoError(t, runtime.LocalRespawn(ctx, ranks, 6, e.main))
			require.Equal(t, e.expected(), e.final)
			require.EqualValues(t, ranks, e.roles[runtime.Initial].Load())
			require.EqualValues(t, 6, e.roles[runtime.Recovered].Load())
		})
	}
}

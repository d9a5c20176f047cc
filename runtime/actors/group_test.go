package actors_test

import (
	"context"
	"errors"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// total adds up the sums of all ranks.
func total(c *runtime.Comm, sum []float64) ([]float64, error) {
	all := append([]float64(nil), sum...)
	for i := 1; i < c.Size(); i++ {
		to, from := (c.Rank()+i)%c.Size(), (c.Rank()-i+c.Size())%c.Size()
		got := make([]float64, len(sum))
		r := runtime.Isend(c, sum, to, 0)
		if _, err := runtime.Recv(c, got, from, 0); err != nil {
			return nil, err
		}
		if _, err := r.Wait(); err != nil {
			return nil, err
		}
		plus(all, got)
	}
	return all, nil
}

func plus(into, values []float64) {
	for i := range into {
		into[i] += values[i]
	}
}

// TestGroup lets two actors on each of three ranks add up numbers in rounds. The actors must answer
// requests while a round is running.
func TestGroup(t *testing.T) {
	const rounds = 20
	require.NoError(t, runtime.Local(3, func(w *runtime.World) error {
		s, err := actors.Of(w)
		require.NoError(t, err)
		results := make(chan *actors.Result[float64], 2*rounds)
		var pids []*actor.PID
		var group *actors.Group
		for k := range 2 {
			done := 0
			give := func(c actor.Context) {
				require.NoError(t, actors.Contribute(group, c.Self(), []float64{1, float64(w.Rank()*2 + k)}, plus, total))
			}
			pid, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				switch m := c.Message().(type) {
				case string:
					give(c)
				case int:
					c.Respond(m)
				case *actors.Result[float64]:
					results <- m
					if done++; done < rounds {
						give(c)
					}
				}
			}), "")
			require.NoError(t, err)
			pids = append(pids, pid)
		}
		_, err = s.NewGroup(w.Comm())
		require.ErrorIs(t, err, actors.ErrMember)
		for _, bad := range []*actor.PID{nil, s.PID(1-min(w.Rank(), 1), "x"), actor.NewPID(pids[0].Address, pids[0].Id)} {
			_, err = s.NewGroup(w.Comm(), pids[0], pids[1], bad)
			require.ErrorIs(t, err, actors.ErrMember)
		}
		group, err = s.NewGroup(w.Comm(), pids...)
		require.NoError(t, err)
		require.ErrorIs(t, actors.Contribute(group, s.PID(0, "stranger"), nil, plus, total), actors.ErrMember)
		require.ErrorIs(t, actors.Contribute(group, nil, nil, plus, total), actors.ErrMember)
		s.Root.Send(pids[0], "go")
		ask(t, s, pids[0], 1) // the actor answers although its round waits for the other actor
		s.Root.Send(pids[1], "go")
		for i := range 2 * rounds {
			r := next(t, results)
			require.NoError(t, r.Err)
			require.Equal(t, i/2, r.Round)
			require.Equal(t, []float64{6, 15}, r.Values)
		}
		return nil
	}))
}

// TestGroupFailure checks that a round that fails at one rank fails at all ranks, with the
// reason.
func TestGroupFailure(t *testing.T) {
	bad := errors.New("bad round")
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		s, err := actors.Of(w)
		require.NoError(t, err)
		in := inbox(t, s, "in", s.Inline())
		pid := s.PID(w.Rank(), "in")
		group, err := s.NewGroup(w.Comm(), pid)
		require.NoError(t, err)
		run := total
		if w.Rank() == 1 {
			run = func(*runtime.Comm, []float64) ([]float64, error) { return nil, bad }
		}
		require.NoError(t, actors.Contribute(group, pid, []float64{1}, plus, run))
		r := next(t, in).(*actors.Result[float64])
		if w.Rank() == 1 {
			require.ErrorIs(t, r.Err, bad)
		} else {
			require.ErrorIs(t, r.Err, runtime.ErrCommBroken)
		}
		return nil
	}))
}

// TestGroupUnequal checks that a round ends with ErrRound if the contributions of two members of a rank differ.
func TestGroupUnequal(t *testing.T) {
	require.NoError(t, runtime.Local(1, func(w *runtime.World) error {
		s, err := actors.Of(w)
		require.NoError(t, err)
		a, b := inbox(t, s, "a", s.Inline()), inbox(t, s, "b", s.Inline())
		group, err := s.NewGroup(w.Comm(), s.PID(0, "a"), s.PID(0, "b"))
		require.NoError(t, err)
		give := func(name string, values ...float64) {
			require.NoError(t, actors.Contribute(group, s.PID(0, name), values, plus, total))
		}
		give("a", 1)
		give("b", 1, 2)
		for _, in := range []<-chan any{a, b} {
			r := next(t, in).(*actors.Result[float64])
			require.ErrorIs(t, r.Err, actors.ErrRound)
			require.ErrorContains(t, r.Err, "b contributed 2 values, earlier members of its rank 1")
		}
		give("a", 1)
		run := func(*runtime.Comm, []int) ([]int, error) { return nil, nil }
		require.NoError(t, actors.Contribute(group, s.PID(0, "b"), []int{1}, nil, run))
		for _, in := range []<-chan any{a, b} {
			r := next(t, in).(*actors.Result[int])
			require.ErrorIs(t, r.Err, actors.ErrRound)
			require.ErrorContains(t, r.Err, "b contributed a []int, earlier members of its rank a []float64")
		}
		return nil
	}))
}

// TestGroupJoinPanics checks that a round ends with an error if the function join of a member panics. The actor is
// restarted. A round after Close ends with an error, too.
func TestGroupJoinPanics(t *testing.T) {
	require.NoError(t, runtime.Local(1, func(w *runtime.World) error {
		s, err := actors.Of(w)
		require.NoError(t, err)
		a := inbox(t, s, "a", s.Inline())
		b := make(chan any, 1)
		bad := func(into, values []float64) { panic("bad join") }
		var group *actors.Group
		_, err = s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			switch m := c.Message().(type) {
			case string:
				require.NoError(t, actors.Contribute(group, c.Self(), []float64{1}, bad, total))
			case *actors.Result[float64]:
				b <- m
			}
		}), "b")
		require.NoError(t, err)
		group, err = s.NewGroup(w.Comm(), s.PID(0, "a"), s.PID(0, "b"))
		require.NoError(t, err)
		require.NoError(t, actors.Contribute(group, s.PID(0, "a"), []float64{1}, plus, total))
		s.Root.Send(s.PID(0, "b"), "go")
		for _, in := range []<-chan any{a, b} {
			require.ErrorContains(t, next(t, in).(*actors.Result[float64]).Err, "has panicked")
		}
		require.NoError(t, group.Close())
		alive := func(c *runtime.Comm, _ []float64) ([]float64, error) { return nil, c.Err() }
		require.NoError(t, actors.Contribute(group, s.PID(0, "a"), []float64{1}, plus, alive))
		require.NoError(t, actors.Contribute(group, s.PID(0, "b"), []float64{1}, plus, alive))
		for _, in := range []<-chan any{a, b} {
			require.ErrorIs(t, next(t, in).(*actors.Result[float64]).Err, runtime.ErrCommClosed)
		}
		return nil
	}))
}

// TestGroupPanic checks that a round that panics ends the rank like a panic of its program.
func TestGroupPanic(t *testing.T) {
	err := runtime.Local(1, func(w *runtime.World) error {
		s, err := actors.Of(w)
		require.NoError(t, err)
		pid, err := s.Spawn(idle(), "")
		require.NoError(t, err)
		group, err := s.NewGroup(w.Comm(), pid)
		require.NoError(t, err)
		run := func(*runtime.Comm, []int) ([]int, error) { panic("bad round") }
		require.NoError(t, actors.Contribute(group, pid, []int{1}, nil, run))
		_, err = runtime.Recv(w.Comm(), make([]int64, 1), 0, 0) // ends with the job
		return err
	})
	failed, ok := errors.AsType[*runtime.PanicError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, "bad round", failed.Value)
}

// TestPipeTo checks that the end of an operation arrives as a message.
func TestPipeTo(t *testing.T) {
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		s, err := actors.Of(w)
		require.NoError(t, err)
		c := w.Comm()
		in := inbox(t, s, "in", s.Worker())
		buf := make([]int64, 2)
		s.PipeTo(runtime.Irecv(c, buf, 1-w.Rank(), 0), s.PID(w.Rank(), "in"), buf)
		require.NoError(t, runtime.Send(c, []int64{int64(w.Rank()), 7}, 1-w.Rank(), 0))
		require.Equal(t, []int64{int64(1 - w.Rank()), 7}, next(t, in))

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s.PipeTo(runtime.NewRequest(c.WithContext(ctx), func(c *runtime.Comm) error { return c.Context().Err() }), s.PID(w.Rank(), "in"), "x")
		f := next(t, in).(*actors.Failure)
		require.Equal(t, "x", f.Result)
		require.ErrorIs(t, f.Err, context.Canceled)
		return nil
	}))
}

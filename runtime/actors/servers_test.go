package actors_test

import (
	"fmt"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// TestHandlersThatAskFurther lets actors on workers wait in their handlers, alternately for an
// actor of their own rank and for an actor of another rank. Each request causes the next one, and
// all of them must be answered.
func TestHandlersThatAskFurther(t *testing.T) {
	t.Run("memory", testAskFurther)
	t.Run("network", func(t *testing.T) { overNetwork(t); testAskFurther(t) })
}

func testAskFurther(t *testing.T) {
	t.Helper()
	const depth, times = 12, 20
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		for i := range depth {
			s := all[i/2%2]
			next := s.PID((i+1)/2%2, fmt.Sprint("deep", i+1))
			_, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				n, ok := c.Message().(int)
				switch {
				case !ok:
				case i == depth-1:
					c.Respond(n)
				default:
					answer, err := c.RequestFuture(next, n+1, soon).Result()
					if err != nil {
						answer = err.Error()
					}
					c.Respond(answer)
				}
			}), fmt.Sprint("deep", i))
			require.NoError(t, err)
		}
		for n := range times {
			answer, err := all[1].Root.RequestFuture(all[1].PID(0, "deep0"), n, soon).Result()
			require.NoError(t, err)
			require.Equal(t, n+depth-1, answer)
		}
	})
}

// TestHandlersThatReceive lets an actor on a worker wait in its handler for a message of a
// communicator. This must work even if the handler runs on the goroutine that received the actor's
// message. An inline actor must not wait. While the actor waits, other actors must get messages.
func TestHandlersThatReceive(t *testing.T) {
	const times = 50
	got := make(chan error, 1)
	done := make(chan struct{})
	ready := make(chan struct{})
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		s, err := actors.Of(w)
		require.NoError(t, err)
		c := w.Comm()
		if w.Rank() == 1 {
			_, err = s.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
				if n, ok := ctx.Message().(int); ok {
					_, err := runtime.Recv(c, make([]int64, 1), 0, n)
					got <- err
				}
			}), "receiver")
			require.NoError(t, err)
			_, err = s.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
				if n, ok := ctx.Message().(int); ok {
					ctx.Respond(n)
				}
			}), "other")
			require.NoError(t, err)
			close(ready)
			<-done
			return nil
		}
		defer close(done)
		<-ready
		for n := range times {
			s.Root.Send(s.PID(1, "receiver"), n)
			answer, err := s.Root.RequestFuture(s.PID(1, "other"), n, soon).Result()
			require.NoError(t, err)
			require.Equal(t, n, answer)
			require.NoError(t, runtime.Send(c, []int64{int64(n)}, 1, n))
			require.NoError(t, next(t, got))
		}
		return nil
	}))
}

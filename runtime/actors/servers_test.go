package actors_test

import (
	"fmt"
	goruntime "runtime"
	"testing"
	"time"

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
// message. While the actor waits, other actors must get messages.
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

// TestQueuedActorBesideARequestedOne blocks all workers of a rank and sends a message to another actor of
// the rank, while requests of a second rank come one after the other. The goroutine that serves runs the actor
// that answers the requests; a further worker must be started for the other actor.
func TestQueuedActorBesideARequestedOne(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		s := all[1]
		total := goruntime.GOMAXPROCS(0)
		blocked, may := make(chan bool, total), make(chan bool)
		defer close(may)
		_, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if m, ok := c.Message().(int); ok {
				for end := time.Now().Add(300 * time.Microsecond); time.Now().Before(end); { // so that it runs most of the time
				}
				c.Respond(m)
			}
		}), "answers")
		require.NoError(t, err)
		in := inbox(t, s, "in", s.Worker())
		answers := all[0].PID(1, "answers")
		ask(t, all[0], answers, 1)
		for range total {
			pid, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				if _, ok := c.Message().(string); ok {
					blocked <- true
					<-may
				}
			}), "")
			require.NoError(t, err)
			s.Root.Send(pid, "block")
		}
		for range total {
			next(t, blocked)
		}
		s.Root.Send(s.PID(1, "in"), "run")
		for n := 0; len(in) == 0; n++ { // it takes about ten requests
			require.Less(t, n, 3000, "the actor does not run")
			ask(t, all[0], answers, 1)
		}
	})
}

package actors_test

import (
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// fenceRequests returns the number of requests: a million with GORUN_SOAK=1.
func fenceRequests() int {
	if os.Getenv("GORUN_SOAK") == "1" {
		return 1_000_000
	}
	return 10_000
}

// TestTimeoutAtTheTimeOfTheAnswer sets the timeout of a request to about the time that its answer
// takes. A request must end with either its answer or one error. Several goroutines send requests
// at the same time to an actor of their rank and to an actor of another rank. With protoactor's
// futures alone, a request can end with both, and the race detector finds the race.
func TestTimeoutAtTheTimeOfTheAnswer(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		for _, s := range all {
			_, err := s.Spawn(idle(), "echo")
			require.NoError(t, err)
		}
		var running sync.WaitGroup
		for _, rank := range []int{0, 1} {
			for range fenceLanes {
				running.Go(func() { timeOut(t, all[0], all[0].PID(rank, "echo"), fenceRequests()/(2*fenceLanes)) })
			}
		}
		running.Wait()
		require.Eventually(t, func() bool { return all[0].Futures() == 0 }, soon, time.Millisecond, "all futures have ended")
	})
}

// fenceLanes is how many goroutines send the requests to one actor.
const fenceLanes = 16

// timeOut sends the given number of requests, and more until at least ten have ended with an answer and ten with a
// timeout. It adapts the timeout to the time of an answer.
func timeOut(t *testing.T, s *actors.System, to *actor.PID, requests int) {
	t.Helper()
	const least = 10
	timeout, answers, timeouts := time.Millisecond, 0, 0
	for i := 0; i < requests || answers < least || timeouts < least; i++ {
		v, err := s.Root.RequestFuture(to, i, timeout).Result()
		switch {
		case err == nil && v == i:
			answers++
			timeout -= timeout/16 + 1
		case v == nil && errors.Is(err, actor.ErrTimeout):
			timeouts++
			timeout += timeout/16 + 1
		default:
			t.Errorf("request %d: %v and %v", i, v, err)
			return
		}
	}
}

// TestAnswersAtTheSameTime sends several answers to a request at the same time. The request must
// end with one of them. Every second request has no timeout. Forwarding the request calls fence again
// for the same future, which has no effect.
func TestAnswersAtTheSameTime(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		s := all[0]
		const answerers = 4
		for rank, there := range all {
			for i := range answerers {
				_, err := there.Spawn(actor.PropsFromFunc(func(c actor.Context) {
					if _, ok := c.Message().(int); ok {
						c.Respond(i)
					}
				}), string(rune('a'+i)))
				require.NoError(t, err, rank)
			}
		}
		_, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(int); ok {
				for i := range answerers {
					c.Forward(s.PID(0, string(rune('a'+i))))
					c.Forward(s.PID(1, string(rune('a'+i))))
				}
			}
		}), "all")
		require.NoError(t, err)
		for i := range fenceRequests() / 20 {
			timeout := soon
			if i%2 == 0 {
				timeout = -1 // no timeout
			}
			v, err := s.Root.RequestFuture(s.PID(0, "all"), i, timeout).Result()
			require.NoError(t, err)
			require.Contains(t, []any{0, 1, 2, 3}, v)
		}
		require.Eventually(t, func() bool { return s.Futures() == 0 }, soon, time.Millisecond, "all futures have ended")
	})
}

// TestSecondAnswer lets an actor of the same rank answer twice. The second answer may come while the
// first is read. The first answer must count.
func TestSecondAnswer(t *testing.T) {
	local(t, 1, actors.Config{}, func(all []*actors.System) {
		pid, err := all[0].Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if n, ok := c.Message().(int); ok {
				c.Respond(n)
				c.Respond(-1)
			}
		}), "twice")
		require.NoError(t, err)
		for i := range fenceRequests() / 20 {
			v, err := all[0].Root.RequestFuture(pid, i, soon).Result()
			require.NoError(t, err)
			require.Equal(t, i, v)
		}
	})
}

// TestSecondAnswerIsReleased checks that the arena memory of a second answer to a request is released.
func TestSecondAnswerIsReleased(t *testing.T) {
	require.NoError(t, runtime.Local(1, func(w *runtime.World) error {
		s, err := actors.Of(w)
		require.NoError(t, err)
		made, both := make(chan *runtime.Message, 2), make(chan bool, 2)
		var answer []*actor.PID
		for _, name := range []string{"a", "b"} {
			pid, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				if _, ok := c.Message().(int); ok {
					m := message(t, w, 1000, 1)
					made <- m
					c.Respond(m)
					both <- true
				}
			}), name)
			require.NoError(t, err)
			answer = append(answer, pid)
		}
		r, err := s.Route(actors.Broadcast, "r", answer...)
		require.NoError(t, err)
		v, err := s.Root.RequestFuture(r, 1, soon).Result()
		require.NoError(t, err)
		next(t, both)
		next(t, both)
		for range answer {
			m := next(t, made)
			require.Equal(t, m == v, s.Unreleased(m))
		}
		v.(*runtime.Message).Close()
		return nil
	}))
}

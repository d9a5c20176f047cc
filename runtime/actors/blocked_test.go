package actors_test

import (
	"strings"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
	"github.com/gorun-hpc/gorun/runtime/internal/port"
)

// blocked returns the report that a rank gives when it hangs.
func blocked(w *runtime.World) string { return port.Of(w).(interface{ Blocked() string }).Blocked() }

// TestBlockedActorsAreNamed checks that the report of a hanging program names each goroutine that
// waits for an actor, with its source line, and each actor that handles a message. The report
// must omit the serving goroutine.
func TestBlockedActorsAreNamed(t *testing.T) {
	begun, seen, may := make(chan bool), make(chan bool), make(chan bool)
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		s, err := actors.Of(w)
		if err != nil {
			return err
		}
		if w.Rank() == 1 {
			defer close(seen)
			_, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				if _, ok := c.Message().(string); ok {
					begun <- true
					<-may
				}
			}), "stuck")
			<-begun
			told := blocked(w)
			require.Regexp(t, `(?m)^  actor stuck: worker, runs, \d+ messages wait$`, told)
			require.NotContains(t, told, "serve")
			return err
		}
		stuck := s.PID(1, "stuck")
		s.Root.Send(stuck, "wait")
		<-seen
		told := make(chan bool)
		go func() {
			defer close(told)
			for range 1000 {
				s.Root.Send(stuck, make([]byte, 1000))
			}
		}()
		require.Eventually(t, func() bool {
			text := blocked(w)
			return strings.Contains(text, "waits in 1 operation\n  tell rank:1/stuck, ") && strings.Contains(text, ", at blocked_test.go:")
		}, 20*time.Second, time.Millisecond)
		close(may)
		<-told
		return nil
	}))
}

// TestWaitForAFutureIsNamed checks that the report of a rank that waits for an actor's answer has
// the source line of the wait.
func TestWaitForAFutureIsNamed(t *testing.T) {
	require.NoError(t, runtime.Local(1, func(w *runtime.World) error {
		s, err := actors.Of(w)
		if err != nil {
			return err
		}
		may, answered := make(chan bool), make(chan error)
		mute, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(string); ok {
				<-may
				c.Respond("at last")
			}
		}), "mute")
		if err != nil {
			return err
		}
		go func() {
			_, err := s.Root.RequestFuture(mute, "a question", time.Minute).Result()
			answered <- err
		}()
		require.Eventually(t, func() bool {
			return strings.Contains(blocked(w), ": waits in 1 operation\n  wait for a Future, at blocked_test.go:")
		}, 20*time.Second, time.Millisecond)
		close(may)
		return <-answered
	}))
}

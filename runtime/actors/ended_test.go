package actors_test

import (
	"context"
	"errors"
	"log/slog"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// errAborted is the cause of the abort in aborted.
var errAborted = errors.New("rank 1 fails")

// unlogged returns a configuration like cfg without a log.
func unlogged(cfg actors.Config) actors.Config {
	cfg.Logger = slog.New(slog.DiscardHandler)
	return cfg
}

// aborted runs a job of two ranks, which rank 1 aborts. Rank 0 calls the function before at first, and the
// function after when the engine of rank 0 has ended. Each rank has two actors that answer no request. The
// handler of the actor "mute" does not return after it has got a string.
func aborted(t *testing.T, before, after func(s *actors.System)) {
	t.Helper()
	gate := make(chan struct{})
	err := runtime.Local(2, func(w *runtime.World) error {
		s, err := actors.OfConfig(w, unlogged(actors.Config{Mailbox: small.Mailbox, Outbox: small.Outbox, Patience: time.Millisecond}))
		require.NoError(t, err)
		_, err = s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(string); ok {
				<-gate
			}
		}), "mute")
		require.NoError(t, err)
		_, err = s.Spawn(actor.PropsFromFunc(func(actor.Context) {}), "silent")
		require.NoError(t, err)
		if err := meet(w.Comm(), 0, 1); err != nil {
			return err
		}
		if w.Rank() == 1 {
			if _, err := runtime.Recv(w.Comm(), make([]byte, 1), 0, 0); err != nil {
				return err
			}
			return errAborted
		}
		defer close(gate)
		before(s)
		unanswered := s.Root.RequestFuture(s.PID(1, "silent"), 1, -1)
		require.NoError(t, runtime.Send(w.Comm(), []byte{1}, 1, 0))
		ends(t, unanswered) // the end of the engine ends this request
		after(s)
		return nil
	})
	require.ErrorIs(t, err, errAborted)
}

// result returns the result of a future that has no timeout.
func result(t *testing.T, f *actor.Future) (any, error) {
	t.Helper()
	type answer struct {
		value any
		err   error
	}
	c := make(chan answer, 1)
	go func() {
		v, err := f.Result()
		c <- answer{v, err}
	}()
	a := next(t, c)
	return a.value, a.err
}

// ends requires that a request ends with actor.ErrDeadLetter.
func ends(t *testing.T, f *actor.Future) {
	t.Helper()
	_, err := result(t, f)
	require.ErrorIs(t, err, actor.ErrDeadLetter)
}

// answers requires that an actor of rank 0 answers a request.
func answers(t *testing.T, s *actors.System, name string) {
	t.Helper()
	v, err := result(t, s.Root.RequestFuture(s.PID(0, name), 7, -1))
	require.NoError(t, err)
	require.Equal(t, 7, v)
}

// flooder spawns an actor that answers requests. The function flood makes this actor send messages to another
// actor (the argument to): more than mailboxes and windows of credit take. flood returns when all messages
// are sent.
func flooder(t *testing.T, s *actors.System, to *actor.PID) (flood func()) {
	t.Helper()
	sent := make(chan struct{})
	_, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case bool:
			for range 200 {
				c.Send(to, strings.Repeat("m", 3000))
			}
			close(sent)
		case int:
			c.Respond(m)
		}
	}), "flooder")
	require.NoError(t, err)
	return func() {
		s.Root.Send(s.PID(0, "flooder"), true)
		await(t, sent)
	}
}

// After the end of the engine, the actors of a rank run until its World is closed, inline actors too. No
// request waits for ever, and no actor waits for ever because of its outbox.
func TestActorsAfterTheEndOfTheEngine(t *testing.T) {
	nothing := func(*actors.System) {}
	t.Run("an inline actor answers", func(t *testing.T) {
		aborted(t, nothing, func(s *actors.System) {
			_, err := s.Spawn(answerer(s.Inline()), "inline")
			require.NoError(t, err)
			answers(t, s, "inline")
			answers(t, s, "inline")
		})
	})
	t.Run("an actor that does not appear", func(t *testing.T) {
		aborted(t, nothing, func(s *actors.System) { ends(t, s.Root.RequestFuture(s.PID(0, "absent"), 1, -1)) })
	})
	t.Run("an outbox for an inline actor", func(t *testing.T) {
		aborted(t, nothing, func(s *actors.System) {
			_, err := s.Spawn(answerer(s.Inline()), "inline")
			require.NoError(t, err)
			flooder(t, s, s.PID(0, "inline"))()
			answers(t, s, "flooder")
		})
	})
	t.Run("an outbox for another rank", func(t *testing.T) {
		aborted(t, func(s *actors.System) { flooder(t, s, s.PID(1, "mute"))() }, func(s *actors.System) { answers(t, s, "flooder") })
	})
	t.Run("watches of another rank's actor", func(t *testing.T) {
		terminated := make(chan *actor.Terminated, 1)
		watch := func(s *actors.System) {
			_, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				switch m := c.Message().(type) {
				case *actor.Started:
					c.Watch(s.PID(1, "mute"))
				case *actor.Terminated:
					terminated <- m
				}
			}), "")
			require.NoError(t, err)
		}
		aborted(t, watch, func(s *actors.System) {
			require.Equal(t, "mute", next(t, terminated).Who.Id)
			watch(s)
			require.Equal(t, "mute", next(t, terminated).Who.Id)
		})
	})
}

// An inline actor that always has a message for itself must not prevent the delivery of messages from other
// ranks or the end of the job.
func TestBusyInlineActor(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		_, err := all[0].Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(int); ok {
				c.Send(c.Self(), 1)
			}
		}, all[0].Inline()), "busy")
		require.NoError(t, err)
		_, err = all[0].Spawn(answerer(all[0].Worker()), "answers")
		require.NoError(t, err)
		all[0].Root.Send(all[0].PID(0, "busy"), 1)
		v, err := result(t, all[1].Root.RequestFuture(all[1].PID(0, "answers"), 2, -1))
		require.NoError(t, err)
		require.Equal(t, 2, v)
	})
}

// The goroutine that delivers messages may end by a panic outside of handlers, or by runtime.Goexit, as in a
// test that fails within an inline handler. Then the job fails and ends.
func TestServingGoroutineEnds(t *testing.T) {
	for name, end := range map[string]func(s *actors.System) error{
		"a subscriber panics": func(s *actors.System) error {
			s.EventStream.Subscribe(func(e any) {
				if _, ok := e.(*actors.DeadLetter); ok {
					panic("subscriber")
				}
			})
			return nil
		},
		"an inline handler calls Goexit": func(s *actors.System) error {
			_, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				if _, ok := c.Message().(int); ok {
					goruntime.Goexit()
				}
			}, s.Inline()), "target")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			failed := make(chan error, 1)
			go func() {
				failed <- runtime.Local(2, func(w *runtime.World) error {
					s, err := actors.OfConfig(w, unlogged(actors.Config{Patience: 1}))
					if err == nil && w.Rank() == 0 {
						err = end(s)
					}
					if err == nil {
						err = meet(w.Comm(), 0, 1)
					}
					if err != nil {
						return err
					}
					if w.Rank() == 1 {
						s.Root.Send(s.PID(0, "target"), 1)
					}
					_, err = runtime.Recv(w.Comm(), make([]byte, 1), 1-w.Rank(), 9)
					return err
				})
			}()
			var rank *runtime.RankError
			require.ErrorAs(t, next(t, failed), &rank)
			require.Zero(t, rank.Rank)
		})
	}
}

// A PID that was made before its actor does not lead to the actor's mailbox after the end of the World.
func TestPIDMadeBeforeItsActor(t *testing.T) {
	var s *actors.System
	var pid *actor.PID
	require.NoError(t, runtime.Local(1, func(w *runtime.World) (err error) {
		s, err = actors.OfConfig(w, unlogged(actors.Config{}))
		require.NoError(t, err)
		pid = s.PID(0, "late")
		_, err = s.Spawn(answerer(s.Worker()), "late")
		require.NoError(t, err)
		for range 2 { // the second request uses the mailbox that the first one has found
			v, err := result(t, s.Root.RequestFuture(pid, 1, -1))
			require.NoError(t, err)
			require.Equal(t, 1, v)
		}
		return nil
	}))
	ends(t, s.Root.RequestFuture(pid, 1, -1))
}

// A request through the System of an earlier World ends, also when a later World has replaced it.
func TestRequestThroughAnEarlierSystem(t *testing.T) {
	var once sync.Once
	var earlier atomic.Pointer[actors.System]
	require.NoError(t, runtime.LocalRespawn(context.Background(), 2, 1, func(w *runtime.World) error {
		return w.Resume(func(w *runtime.World) error {
			s, err := actors.OfConfig(w, unlogged(actors.Config{}))
			if err != nil {
				return err
			}
			if w.Generation() == 0 {
				if w.Rank() == 0 {
					earlier.Store(s)
				}
				if err := meet(w.Comm(), 0, 1); err != nil {
					return err
				}
				if w.Rank() == 1 {
					once.Do(func() { panic("lost") })
				}
				_, err := runtime.Recv(w.Comm(), make([]byte, 1), 1, 9)
				return err
			}
			if w.Rank() == 0 {
				old := earlier.Load()
				for rank := range w.Size() {
					ends(t, old.Root.RequestFuture(old.PID(rank, "nobody"), 1, -1))
				}
			}
			return meet(w.Comm(), 0, 1)
		})
	}))
}

// TestMessagesToEndedActors sends arena memory to an actor of the own rank that has ended, and to one that is never
// spawned. Subscribers of protoactor's event can read the message, and then it is released.
func TestMessagesToEndedActors(t *testing.T) {
	require.NoError(t, runtime.Local(1, func(w *runtime.World) error {
		s, err := actors.OfConfig(w, unlogged(actors.Config{Patience: time.Millisecond}))
		require.NoError(t, err)
		read := make(chan byte, 1)
		s.EventStream.Subscribe(func(event any) {
			if d, ok := event.(*actor.DeadLetterEvent); ok {
				if m, ok := d.Message.(*runtime.Message); ok {
					read <- m.Bytes()[0]
				}
			}
		})
		pid, err := s.Spawn(idle(), "x")
		require.NoError(t, err)
		require.NoError(t, s.Root.StopFuture(pid).Wait())
		for _, to := range []*actor.PID{pid, s.PID(0, "no such actor")} {
			b, err := runtime.Alloc[byte](w, 1000)
			require.NoError(t, err)
			b.Bytes()[0] = 7
			m, err := runtime.NewMessage(b)
			require.NoError(t, err)
			s.Root.Send(to, m)
			require.EqualValues(t, 7, next(t, read))
			require.Eventually(t, func() bool { return !s.Unreleased(m) }, soon, time.Millisecond)
		}
		return nil
	}))
}

// TestInlineHandlerThatDoesNotReturn checks that the end of the World does not wait for an inline handler for ever,
// that the log names the actor, and that a wait for another rank ends nevertheless.
func TestInlineHandlerThatDoesNotReturn(t *testing.T) {
	logged, gate := make(records, 10), make(chan struct{})
	defer close(gate)
	ended := make(chan error, 1)
	var unanswered *actor.Future
	go func() {
		ended <- runtime.Local(2, func(w *runtime.World) error {
			s, err := actors.OfConfig(w, actors.Config{Logger: slog.New(logged)})
			require.NoError(t, err)
			if w.Rank() == 1 {
				_, err := s.Spawn(actor.PropsFromFunc(func(actor.Context) {}), "silent")
				return err
			}
			inside := make(chan struct{})
			pid, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				if _, ok := c.Message().(int); ok {
					close(inside)
					<-gate
				}
			}, s.Inline()), "endless")
			require.NoError(t, err)
			unanswered = s.Root.RequestFuture(s.PID(1, "silent"), 1, -1)
			s.Root.Send(pid, 1)
			await(t, inside)
			return nil
		})
	}()
	require.NoError(t, next(t, ended))
	ends(t, unanswered)
	for {
		record := next(t, logged)
		if record.Level < slog.LevelError {
			continue // the warning that the actor blocks the delivery
		}
		var attributes []string
		record.Attrs(func(a slog.Attr) bool {
			attributes = append(attributes, a.String())
			return true
		})
		require.Contains(t, attributes, "actor=rank:0/endless")
		return
	}
}

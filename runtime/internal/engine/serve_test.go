package engine_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// TestServe checks that Serve calls work when ready returns true, and that calls of the engine in
// work cannot wait.
func TestServe(t *testing.T) {
	w, _ := actorReceivers(t, transporttest.FakeOptions{})
	e := w.engines[0]
	some, errs := make(chan struct{}, 1), make(chan error, 1)
	ended := make(chan error)
	go func() {
		ready := func() bool { return len(some) > 0 }
		ended <- e.Serve(ready, ready, func() engine.Next {
			<-some
			_, err := e.Recv(none, engine.Match{Context: 1, Peer: 1, Tag: 1}, 0, nil)
			errs <- err
			return engine.Yield
		})
	}()
	for range 3 {
		some <- struct{}{}
		e.Rouse()
		err := <-errs
		require.ErrorIs(t, err, engine.ErrInline)
		require.EqualError(t, err, "receive: operation was cancelled: an inline handler must not wait")
	}
	require.NoError(t, e.Close())
	require.ErrorIs(t, <-ended, engine.ErrClosed)
	require.NotEqual(t, engine.Goroutine(), func() uintptr {
		c := make(chan uintptr)
		go func() { c <- engine.Goroutine() }()
		return <-c
	}())
	require.Equal(t, engine.Goroutine(), engine.Goroutine())
}

// echo is an actor receiver whose serving goroutine answers each actor message.
type echo struct {
	actorReceiver
	engine *engine.Engine
	stream *engine.Stream
	// server is the serving goroutine. The field own counts the actor messages that the serving goroutine
	// has polled itself.
	server atomic.Uintptr
	own    atomic.Int64
	queued int
	// before, if not nil, is called before each answer.
	before func()
}

func (c *echo) ActorMessage(int, engine.ActorMessage, []byte, *engine.Message) {
	c.queued++
	if engine.Goroutine() == c.server.Load() {
		c.own.Add(1)
	}
}

// serve answers actor messages until the engine ends.
func (c *echo) serve(t *testing.T, e *engine.Engine) {
	t.Helper()
	c.engine = e
	var err error
	c.stream, err = e.NewStream(0, nil, nil, nil)
	require.NoError(t, err)
	e.SetActorReceiver(c)
	ended := make(chan error, 1)
	taken := 0
	go func() {
		c.server.Store(engine.Goroutine())
		ready := func() bool { taken += c.queued; c.queued = 0; return taken > 0 }
		ended <- e.Serve(ready, ready, func() engine.Next {
			for ; taken > 0; taken-- {
				if c.before != nil {
					c.before()
				}
				_, _ = e.SendActorMessage(c.stream, engine.ActorMessage{Stream: c.stream.Number()}, nil, nil, 0)
			}
			return engine.Stay
		})
	}()
	t.Cleanup(func() {
		require.NoError(t, e.Close())
		require.ErrorIs(t, <-ended, engine.ErrClosed)
	})
}

// pinger returns a function that sends an actor message to the echo and waits for the answer.
func pinger(t *testing.T, e *engine.Engine) func() {
	t.Helper()
	answers := &actorReceiver{}
	e.SetActorReceiver(answers)
	l, err := e.NewStream(1, nil, nil, nil)
	require.NoError(t, err)
	sent := 0
	return func() {
		sent++
		ok, err := e.SendActorMessage(l, engine.ActorMessage{Stream: 1}, nil, nil, 0)
		require.True(t, ok)
		require.NoError(t, err)
		require.NoError(t, e.Await(none, func() bool { return len(answers.actorMessages) == sent }, "answer"))
	}
}

// TestServeKeepsTheToken checks that the serving goroutine polls while actor messages arrive, and
// wakes no other goroutine, even if another goroutine waits and has polled before. That goroutine
// must still get its message.
func TestServeKeepsTheToken(t *testing.T) {
	w := newWorld(t, 2, transporttest.FakeOptions{}, nil)
	e := w.engines[1]
	c := &echo{}
	c.serve(t, e)
	ping := pinger(t, w.engines[0])
	ping()
	for range 3 {
		var looks atomic.Int64
		var over atomic.Bool
		ended := make(chan error, 1)
		go func() {
			me := engine.Goroutine()
			ended <- e.Await(none, func() bool {
				if engine.Goroutine() == me {
					looks.Add(1)
				}
				return over.Load()
			}, "watch")
		}()
		soonTrue(t, func() bool { return blockedIn(e, "watch") })
		ping()
		const n = 400
		before, moved := c.own.Load(), 0
		for range n {
			looked := looks.Load()
			ping()
			if looks.Load() != looked { // the other goroutine has polled, perhaps many times
				moved++
			}
		}
		require.Greater(t, c.own.Load()-before, int64(n/2))
		require.Less(t, moved, n/2)
		over.Store(true)
		e.Rouse()
		require.NoError(t, <-ended)
	}
}

// TestServerTellsOthersBeforeItWorks checks that the serving goroutine first wakes the goroutines
// whose messages it has polled, and then works. Its work may take any time.
func TestServerTellsOthersBeforeItWorks(t *testing.T) {
	heard := 0
	w := newWorldOf(t, 2, transporttest.FakeOptions{}, false, func(c *engine.Config) {
		// The serving goroutine yields and does not sleep. A sleeping goroutine would hold the
		// token.
		c.Wait = engine.WaitPolicy{Yield: time.Hour}
		if c.Rank == 1 {
			c.Notice = func(int, int, []byte) { heard++ }
		}
	})
	e := w.engines[1]
	told := make(chan error, 1)
	go func() { told <- e.Await(none, func() bool { return heard > 0 }, "notice") }()
	soonTrue(t, func() bool { return blockedIn(e, "notice") })
	works, inside, on := 0, make(chan struct{}), make(chan struct{})
	c := &echo{before: func() {
		if works++; works == 1 {
			inside <- struct{}{}
			<-on
			return
		}
		select {
		case err := <-told:
			assert.NoError(t, err)
		case <-time.After(20 * time.Second):
			assert.Fail(t, "no goroutine was woken")
		}
		inside <- struct{}{}
	}}
	c.serve(t, e)
	soonTrue(t, func() bool { return blockedIn(e, "serve actors") })
	l, err := w.engines[0].NewStream(1, nil, nil, nil)
	require.NoError(t, err)
	send := func() {
		ok, err := w.engines[0].SendActorMessage(l, engine.ActorMessage{Stream: l.Number()}, nil, nil, 0)
		require.True(t, ok)
		require.NoError(t, err)
	}
	send()
	<-inside
	// No goroutine polls now. Therefore one poll will find both the notice and the actor message.
	w.engines[0].Notify(1, 0, nil)
	send()
	close(on)
	<-inside
}

// TestWaitsThatBeginPoll checks that a goroutine that often waits polls for itself, although the
// serving goroutine had the token.
func TestWaitsThatBeginPoll(t *testing.T) {
	var heard [2]int
	// The goroutine that found the last notice of rank 1.
	var poller uintptr
	rank := 0
	w := newWorld(t, 2, transporttest.FakeOptions{}, func(c *engine.Config) {
		mine := rank
		rank++
		c.Notice = func(int, int, []byte) {
			heard[mine]++
			if mine == 1 {
				poller = engine.Goroutine()
			}
		}
	})
	c := &echo{}
	c.serve(t, w.engines[1])
	ping := pinger(t, w.engines[0])
	for range 100 {
		ping()
	}
	const n = 2000
	own := 0
	w.each(t, func(rank int, e *engine.Engine) error {
		for i := range n {
			if rank == 0 {
				e.Notify(1, 0, nil)
			}
			if err := e.Await(none, func() bool { return heard[rank] > i }, "notice"); err != nil {
				return err
			}
			if rank == 1 {
				if poller == engine.Goroutine() {
					own++
				}
				e.Notify(0, 0, nil)
			}
		}
		return nil
	})
	require.Greater(t, own, n/2)
}

// blockedIn reports whether a goroutine waits in an operation.
func blockedIn(e *engine.Engine, op string) bool {
	for _, b := range e.Blocked() {
		if b.Op == op {
			return true
		}
	}
	return false
}

// TestBlockedWorkDelaysNoWaiter checks that a handler that blocks delays no other goroutine. The
// other goroutine begins to wait before or after the handler blocks.
func TestBlockedWorkDelaysNoWaiter(t *testing.T) {
	for name, early := range map[string]bool{"waits before": true, "waits later": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2, transporttest.FakeOptions{}, nil)
			gate, inside := make(chan struct{}), make(chan struct{})
			var blocks atomic.Bool
			c := &echo{before: func() {
				if blocks.Load() {
					inside <- struct{}{}
					<-gate
				}
			}}
			c.serve(t, w.engines[1])
			ping := pinger(t, w.engines[0])
			got := make(chan error, 1)
			receive := func() {
				_, err := w.engines[1].Recv(none, engine.Match{Context: 1, Peer: 0, Tag: 1}, 0, nil)
				got <- err
			}
			if early {
				go receive()
				soonTrue(t, func() bool { return blockedIn(w.engines[1], "receive") })
			}
			for range 100 {
				ping() // gives the token to the serving goroutine
			}
			blocks.Store(true)
			ended := make(chan struct{})
			go func() { defer close(ended); ping() }()
			<-inside
			if !early {
				go receive()
				soonTrue(t, func() bool { return blockedIn(w.engines[1], "receive") })
			}
			require.NoError(t, w.engines[0].Send(none, engine.Match{Context: 1, Peer: 1, Tag: 1}, 0, nil, engine.Standard))
			late := !assert.Eventually(t, func() bool { return len(got) == 1 }, 10*time.Second, time.Millisecond)
			close(gate)
			require.False(t, late, "the receive waits for the handler")
			require.NoError(t, <-got)
			<-ended
		})
	}
}

// TestServeInTurn lets goroutines serve in turn. A goroutine that has stopped serving may wait,
// and the next one serves later messages. While none serves, waiting goroutines must still get
// their messages.
func TestServeInTurn(t *testing.T) {
	w := newWorld(t, 2, transporttest.FakeOptions{}, nil)
	e := w.engines[1]
	c := &echo{}
	var err error
	c.stream, err = e.NewStream(0, nil, nil, nil)
	require.NoError(t, err)
	e.SetActorReceiver(c)
	taken := 0
	ready := func() bool { taken += c.queued; c.queued = 0; return taken > 0 }
	work := func() engine.Next {
		for ; taken > 0; taken-- {
			_, _ = e.SendActorMessage(c.stream, engine.ActorMessage{Stream: c.stream.Number()}, nil, nil, 0)
		}
		return engine.Leave
	}
	receive := func() error {
		_, err := e.Recv(none, engine.Match{Context: 1, Peer: 0, Tag: 1}, 0, nil)
		return err
	}
	send := func() error {
		return w.engines[0].Send(none, engine.Match{Context: 1, Peer: 1, Tag: 1}, 0, nil, engine.Standard)
	}
	ping := pinger(t, w.engines[0])
	for range 20 {
		parked := make(chan error, 1)
		left := make(chan error)
		go func() {
			if err := e.Serve(ready, ready, work); err != nil {
				left <- err
				return
			}
			left <- receive()
		}()
		ping()
		require.NoError(t, send())
		require.NoError(t, <-left)
		go func() { parked <- receive() }()
		soonTrue(t, func() bool { return blockedIn(e, "receive") })
		require.NoError(t, send())
		require.NoError(t, <-parked)
	}
	ended := make(chan error)
	go func() { ended <- e.Serve(ready, ready, work) }()
	require.NoError(t, e.Close())
	require.ErrorIs(t, <-ended, engine.ErrClosed)
}

package actors_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// TestSenderWaitsWhileATurnEnds checks that a turn handles the message of a sender that has begun to wait for space
// when the actor had already made space. The sender relies on that turn.
func TestSenderWaitsWhileATurnEnds(t *testing.T) {
	local(t, 1, small, func(all []*actors.System) {
		s := all[0]
		in := inbox(t, s, "in", s.Worker())
		s.Root.Send(s.PID(0, "in"), "first")
		require.Equal(t, "first", next(t, in))
		require.Eventually(t, func() bool { return s.Rests("in") }, soon, time.Millisecond)
		s.RunWaiting("in", "second")
		select {
		case m := <-in:
			require.Equal(t, "second", m)
		default:
			require.Fail(t, "the message was not handled")
		}
	})
}

// numbered is a numbered message of one of several senders.
type numbered struct{ from, number int }

// TestSendersWaitForRoom lets goroutines and actors send an actor of their rank more than its
// mailbox takes. The mailbox must never exceed its bound, and no message may be lost. The messages
// of each sender must arrive in order, whether the actor is idle or runs.
func TestSendersWaitForRoom(t *testing.T) {
	local(t, 1, actors.Config{Mailbox: small.Mailbox}, func(all []*actors.System) {
		const n, goroutines, both = 20_000, 3, 5
		s := all[0]
		dead := letters(s)
		var posted, theirs atomic.Int64 // how many messages of goroutines were sent, and how many were handled
		taken := 0
		var next [both]int
		var wrong atomic.Int64
		gate, done := make(chan struct{}), make(chan struct{})
		_, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			m, ok := c.Message().(numbered)
			if !ok {
				return
			}
			// A message that a goroutine has posted is in the mailbox or was handled. Each message
			// counts 64 bytes.
			if m.from < goroutines && posted.Load()-theirs.Add(1) > int64(small.Mailbox/64) {
				wrong.Add(1)
			}
			if m.number != next[m.from] {
				wrong.Add(1)
			}
			next[m.from]++
			<-gate
			if taken++; taken == n*both {
				close(done)
			}
		}), "slow")
		require.NoError(t, err)
		var wg sync.WaitGroup
		for from := range goroutines {
			wg.Go(func() {
				for i := range n {
					s.Root.Send(s.PID(0, "slow"), numbered{from, i})
					posted.Add(1)
				}
			})
		}
		for from := goroutines; from < both; from++ {
			pid, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				if first, ok := c.Message().(int); ok {
					for i := first; i < min(first+500, n); i++ {
						c.Send(s.PID(0, "slow"), numbered{from, i})
					}
					if first+500 < n {
						c.Send(c.Self(), first+500)
					}
				}
			}), "")
			require.NoError(t, err)
			s.Root.Send(pid, 0)
		}
		for range n / 100 {
			gate <- struct{}{} // the actor handles one message for each value
		}
		close(gate)
		await(t, done)
		wg.Wait()
		require.Zero(t, wrong.Load())
		require.Empty(t, dead)
	})
}

// TestSendersEndWithTheJob lets a goroutine send messages to an actor of its own rank before and after
// the job is aborted. The actor's handler does not return. The goroutine must not wait for space for
// ever: messages without space must become dead letters, whose reason is the cause of the abort.
func TestSendersEndWithTheJob(t *testing.T) {
	cause := errors.New("rank 1 fails")
	err := runtime.Local(2, func(w *runtime.World) error {
		if w.Rank() == 1 {
			if _, err := runtime.Recv(w.Comm(), make([]byte, 1), 0, 0); err != nil {
				return err
			}
			return cause
		}
		s, err := actors.OfConfig(w, small)
		require.NoError(t, err)
		dead, gate := letters(s), make(chan struct{})
		defer close(gate)
		_, err = s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(int); ok {
				<-gate
			}
		}), "busy")
		require.NoError(t, err)
		begun := make(chan struct{})
		var over atomic.Bool
		var sender sync.WaitGroup
		sender.Go(func() {
			for i := 0; !over.Load(); i++ {
				if i == small.Mailbox/64 { // the mailbox has space for this many messages
					close(begun)
				}
				s.Root.Send(s.PID(0, "busy"), i)
			}
		})
		<-begun
		require.NoError(t, runtime.Send(w.Comm(), []byte{1}, 1, 0))
		require.ErrorIs(t, next(t, dead).Reason, cause)
		over.Store(true)
		sender.Wait()
		return nil
	})
	require.ErrorIs(t, err, cause)
}

// TestFailureAmidABatch lets an actor fail among many messages of another rank and of its own
// rank. The actor handles no message until its parent has restarted it. The remaining messages of each
// sender must then arrive in order.
func TestFailureAmidABatch(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			local(t, 2, actors.Config{}, func(all []*actors.System) {
				const n = 1000
				inside, gate, got := make(chan struct{}), make(chan struct{}), make(chan int, 2*n)
				child := actor.PropsFromFunc(func(c actor.Context) {
					switch m := c.Message().(type) {
					case string:
						close(inside)
						<-gate // when the gate opens, many messages are waiting
					case int:
						if m%100 == 50 && m < 500 {
							panic("as told")
						}
						got <- m
					}
				}, mode(all[1]))
				_, err := all[1].Spawn(actor.PropsFromFunc(func(c actor.Context) {
					if _, ok := c.Message().(*actor.Started); ok {
						_, err := c.SpawnNamed(child, "child")
						require.NoError(t, err)
					}
				}), "parent")
				require.NoError(t, err)
				peer := all[0].PID(1, "parent/child")
				all[0].Root.Send(peer, "wait")
				await(t, inside)
				for i := range n {
					all[0].Root.Send(peer, i) // all these messages are within the credit
				}
				close(gate)
				for i := range n {
					all[1].Root.Send(all[1].PID(1, "parent/child"), n+i)
				}
				expected := [2]int{0, n} // the next numbers of the other rank and of this rank
				for range 2*n - 5 {
					i := next(t, got)
					from := i / n
					require.Equal(t, expected[from], i)
					if expected[from]++; expected[from] < 500 && expected[from]%100 == 50 {
						expected[from]++ // the actor failed at this number
					}
				}
			})
		})
	}
}

// await waits until c is closed.
func await(t *testing.T, c <-chan struct{}) {
	t.Helper()
	next(t, c)
}

// TestMailboxIsFullBeforeTheActorRuns sends more than a mailbox and an outbox take to an actor whose initialization has
// not ended. The messages that find no space become dead letters, and the sender does not fail.
func TestMailboxIsFullBeforeTheActorRuns(t *testing.T) {
	local(t, 1, unlogged(actors.Config{Mailbox: 1000, Outbox: 1000}), func(all []*actors.System) {
		s := all[0]
		dead := letters(s)
		begun, goOn, spawned := make(chan bool, 1), make(chan bool), make(chan error, 1)
		init := actor.WithOnInit(func(actor.Context) {
			begun <- true
			<-goOn
		})
		go func() {
			_, err := s.Spawn(actor.PropsFromFunc(func(actor.Context) {}, init), "slow")
			spawned <- err
		}()
		next(t, begun)
		sender, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(int); ok {
				for range 100 {
					c.Send(actor.NewPID(s.Address(), "slow"), "x")
				}
				c.Respond(1)
			}
		}), "sender")
		require.NoError(t, err)
		f := s.Root.RequestFuture(sender, 1, soon)
		require.ErrorIs(t, next(t, dead), actors.ErrMailboxFull)
		close(goOn)
		require.NoError(t, f.Wait())
		require.NoError(t, next(t, spawned))
	})
}

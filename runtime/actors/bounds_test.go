package actors_test

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
)

// small is a configuration with low bounds.
var small = actors.Config{Mailbox: 4 << 10, Outbox: 8 << 10}

// TestSelfFlood lets an actor send itself more messages than its mailbox takes. The messages that
// fit must be delivered in order, the others must become dead letters, and nothing may hang.
func TestSelfFlood(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			local(t, 1, small, func(all []*actors.System) {
				s := all[0]
				dead := letters(s)
				const n = 5000
				got, last := 0, -1
				done := make(chan struct{})
				_, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
					switch m := c.Message().(type) {
					case string:
						for i := range n {
							c.Send(c.Self(), i)
						}
						close(done)
					case int:
						require.Greater(t, m, last)
						last = m
						got++
					case func(int):
						m(got)
					}
				}, mode(s)), "self")
				require.NoError(t, err)
				s.Root.Send(s.PID(0, "self"), "go")
				<-done
				refused := 0
				for len(dead) > 0 {
					require.ErrorIs(t, <-dead, actors.ErrMailboxFull)
					refused++
				}
				require.Positive(t, refused)
				// Each message counts as 64 bytes. The messages that fit fill the mailbox and the
				// outbox; the test tolerates a difference of two messages.
				require.InDelta(t, n-(small.Mailbox+small.Outbox)/64, refused, 2)
				total := make(chan int, 1)
				require.Eventually(t, func() bool {
					s.Root.Send(s.PID(0, "self"), func(g int) { total <- g })
					return <-total == n-refused
				}, soon, time.Millisecond)
			})
		})
	}
}

// block is plain data. Two blocks exceed the outbox of small.
type block struct{ Bytes [5 << 10]byte }

func init() { actors.RegisterType[block]() }

// TestOutboxCountsPlainData lets an actor send blocks to an actor of another rank that does not take them.
// Those that exceed the credit and the outbox must become dead letters.
func TestOutboxCountsPlainData(t *testing.T) {
	local(t, 2, small, func(all []*actors.System) {
		const n = 100 // twice the window of the stream
		s, gate, sent := all[0], make(chan struct{}), make(chan struct{})
		defer close(gate)
		_, err := all[1].Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(*block); ok {
				<-gate
			}
		}), "slow")
		require.NoError(t, err)
		dead := letters(s)
		pid, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(string); ok {
				for range n {
					c.Send(s.PID(1, "slow"), new(block))
				}
				close(sent)
			}
		}), "sender")
		require.NoError(t, err)
		s.Root.Send(pid, "go")
		await(t, sent)
		require.Greater(t, len(dead), n/4)
		require.ErrorIs(t, next(t, dead), actors.ErrMailboxFull)
	})
}

// chatter is an actor. For each message that it gets, it sends its neighbour a number of messages (factor).
type chatter struct {
	next   *actor.PID
	taken  *atomic.Int64
	factor int
}

// Receive implements actor.Actor.
func (a *chatter) Receive(c actor.Context) {
	if m, ok := c.Message().([]byte); ok {
		a.taken.Add(1)
		for range a.factor {
			c.Send(a.next, m)
		}
	}
}

// TestCycleOfThree uses three actors in a cycle. For each message that an actor gets, it sends three
// messages to the next actor. All three actors must continue, although some messages are lost.
func TestCycleOfThree(t *testing.T) {
	t.Run("memory", testCycleOfThree)
	t.Run("network", func(t *testing.T) { overNetwork(t); testCycleOfThree(t) })
}

func testCycleOfThree(t *testing.T) {
	t.Helper()
	for name, mode := range modes {
		for _, ranks := range []int{1, 3} {
			t.Run(fmt.Sprint(name, " ", ranks), func(t *testing.T) { testCycle(t, ranks, mode, "") })
			t.Run(fmt.Sprint(name, " ", ranks, " router"), func(t *testing.T) { testCycle(t, ranks, mode, "router ") })
		}
	}
}

// testCycle tests a cycle of three actors. If prefix is not empty, they send to routers in front of the actors.
// The names of the routers begin with this prefix.
func testCycle(t *testing.T, ranks int, mode func(*actors.System) actor.PropsOption, prefix string) {
	t.Helper()
	local(t, ranks, small, func(all []*actors.System) {
		var taken [3]atomic.Int64
		var pids []*actor.PID
		var full atomic.Int64
		for i := range 3 {
			s := all[i%ranks]
			s.EventStream.Subscribe(func(e any) {
				if d, ok := e.(*actors.DeadLetter); ok && errors.Is(d, actors.ErrMailboxFull) {
					full.Add(1)
				}
			})
			next := s.PID((i+1)%3%ranks, prefix+string(rune('a'+(i+1)%3)))
			pid, err := s.Spawn(actor.PropsFromProducer(func() actor.Actor { return &chatter{next, &taken[i], 3} }, mode(s)), string(rune('a'+i)))
			require.NoError(t, err)
			if prefix != "" {
				_, err := s.Route(actors.RoundRobin, prefix+pid.Id, pid)
				require.NoError(t, err)
			}
			pids = append(pids, pid)
		}
		all[0].Root.Send(pids[0], make([]byte, 1000))
		require.Eventually(t, func() bool {
			return full.Load() > 10 && taken[0].Load() > 1000 && taken[1].Load() > 1000 && taken[2].Load() > 1000
		}, soon, time.Millisecond)
		for i, pid := range pids {
			require.NoError(t, all[i%ranks].Root.StopFuture(pid).Wait())
		}
	})
}

// TestBackPressureThroughAChain checks a chain of actors whose last actor is slow. No message may
// be lost, and the waiting messages must stay within their bounds.
func TestBackPressureThroughAChain(t *testing.T) {
	t.Run("memory", testBackPressureThroughAChain)
	t.Run("network", func(t *testing.T) { overNetwork(t); testBackPressureThroughAChain(t) })
}

func testBackPressureThroughAChain(t *testing.T) {
	t.Helper()
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			local(t, 3, small, func(all []*actors.System) {
				const n = 3000
				var dead [3]<-chan *actors.DeadLetter
				for i, s := range all {
					dead[i] = letters(s)
				}
				gate := make(chan struct{})
				got := make(chan int, n)
				_, err := all[2].Spawn(actor.PropsFromFunc(func(c actor.Context) {
					if m, ok := c.Message().([]byte); ok {
						<-gate
						got <- len(m)
					}
				}), "slow") // the default is a worker, which may block
				require.NoError(t, err)
				// The test keeps the PIDs. Without a PID, the garbage collector would close the
				// stream, and the next stream would begin with a whole window of credit.
				slow, relay := all[1].PID(2, "slow"), all[0].PID(1, "relay")
				var passed atomic.Int64
				_, err = all[1].Spawn(actor.PropsFromFunc(func(c actor.Context) {
					if m, ok := c.Message().([]byte); ok {
						c.Send(slow, m)
						passed.Add(1)
					}
				}, mode(all[1])), "relay")
				require.NoError(t, err)
				var sent atomic.Int64
				var wg sync.WaitGroup
				wg.Go(func() {
					for range n {
						all[0].Root.Send(relay, make([]byte, 1000))
						sent.Add(1)
					}
				})
				// The relay sends 232 messages, which fill one window, to the slow actor. One more
				// message is in the outbox of the relay, which therefore does not run. The relay's
				// sender has used one window, got half a window back, and used this half.
				require.EventuallyWithT(t, func(t *assert.CollectT) {
					assert.EqualValues(t, 233, passed.Load(), "messages of the relay")
					assert.EqualValues(t, 349, sent.Load(), "messages of its sender")
				}, soon, time.Millisecond)
				close(gate)
				for range n {
					require.Equal(t, 1000, next(t, got))
				}
				wg.Wait()
				for i := range dead {
					require.Empty(t, dead[i])
				}
				goruntime.KeepAlive(slow)
				goruntime.KeepAlive(relay)
			})
		})
	}
}

// TestCodecThatPanicsLater sends a request whose codec panics. The request waits for credit, so that it is not
// encoded within the call of RequestFuture. It must become a dead letter, and later messages must arrive.
func TestCodecThatPanicsLater(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		const n = 500 // more than the window of the stream
		s, gate, got := all[0], make(chan struct{}), make(chan any, n+1)
		_, err := all[1].Spawn(actor.PropsFromFunc(func(c actor.Context) {
			switch m := c.Message().(type) {
			case []byte, own:
				<-gate
				got <- m
			}
		}), "slow") // the default is a worker, which may block
		require.NoError(t, err)
		dead, requests := letters(s), make(chan *actor.Future, 1)
		pid, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(string); ok {
				for range n {
					c.Send(s.PID(1, "slow"), make([]byte, 1000))
				}
				requests <- c.RequestFuture(s.PID(1, "slow"), own{"!"}, soon)
				c.Send(s.PID(1, "slow"), own{"last"})
			}
		}), "sender")
		require.NoError(t, err)
		s.Root.Send(pid, "go")
		request := next(t, requests)
		close(gate)
		_, err = request.Result()
		require.ErrorIs(t, err, actor.ErrDeadLetter)
		require.ErrorContains(t, next(t, dead), "encode actors_test.own: panic: not to be said")
		for range n {
			require.IsType(t, []byte{}, next(t, got))
		}
		require.Equal(t, own{"last"}, next(t, got))
		require.Zero(t, s.Questions())
	})
}

// TestStuckActorBesideAFastOne checks that a stuck actor delays only the goroutines that send to it.
func TestStuckActorBesideAFastOne(t *testing.T) {
	t.Run("memory", testStuckActorBesideAFastOne)
	t.Run("network", func(t *testing.T) { overNetwork(t); testStuckActorBesideAFastOne(t) })
}

func testStuckActorBesideAFastOne(t *testing.T) {
	t.Helper()
	local(t, 2, small, func(all []*actors.System) {
		gate := make(chan struct{})
		_, err := all[1].Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(string); ok {
				<-gate
			}
		}), "stuck")
		require.NoError(t, err)
		fast := inbox(t, all[1], "fast", all[1].Worker())
		var flood sync.WaitGroup
		for range 2 {
			flood.Go(func() {
				for range 4000 {
					all[0].Root.Send(all[0].PID(1, "stuck"), "x") // more than the credit: Send blocks
				}
			})
			flood.Go(func() {
				for range 4000 {
					all[1].Root.Send(all[1].PID(1, "stuck"), "x")
				}
			})
		}
		for i := range 5000 {
			all[0].Root.Send(all[0].PID(1, "fast"), i)
			require.Equal(t, i, next(t, fast))
		}
		// System messages reach the stuck actor.
		stopped := all[0].Root.StopFuture(all[0].PID(1, "stuck"))
		close(gate)
		require.NoError(t, stopped.Wait())
		flood.Wait()
	})
}

// TestWaitingActorsAskOnce checks that an actor sends one probe when it begins to wait for another
// actor, and no further probe when more of its messages wait. Every message must be sent when there is
// room.
func TestWaitingActorsAskOnce(t *testing.T) {
	t.Run("memory", testWaitingActorsAskOnce)
	t.Run("network", func(t *testing.T) { overNetwork(t); testWaitingActorsAskOnce(t) })
}

func testWaitingActorsAskOnce(t *testing.T) {
	t.Helper()
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			local(t, 2, actors.Config{}, func(all []*actors.System) {
				const senders, each, bytes = 5, 500, 1000 // more than the window of the stream
				gate := make(chan struct{})
				got := make(chan int, senders*each)
				_, err := all[1].Spawn(actor.PropsFromFunc(func(c actor.Context) {
					if m, ok := c.Message().([]byte); ok {
						<-gate
						got <- int(m[0])<<16 | int(m[1])<<8 | int(m[2])
					}
				}), "stuck") // the default is a worker, which may block
				require.NoError(t, err)
				var sent sync.WaitGroup
				for i := range senders {
					pid, err := all[0].Spawn(actor.PropsFromFunc(func(c actor.Context) {
						if _, ok := c.Message().(string); ok {
							for n := range each {
								m := make([]byte, bytes)
								m[0], m[1], m[2] = byte(i), byte(n>>8), byte(n)
								c.Send(all[1].PID(1, "stuck"), m)
							}
							sent.Done()
						}
					}, mode(all[0])), "")
					require.NoError(t, err)
					sent.Add(1)
					all[0].Root.Send(pid, "go")
				}
				sent.Wait()
				asked := all[0].Probes()
				require.Positive(t, asked)
				require.LessOrEqual(t, asked, uint32(senders))
				close(gate)
				var last [senders]int
				for range senders * each {
					m := next(t, got)
					require.Equal(t, last[m>>16], m&0xffff, "of sender %d", m>>16)
					last[m>>16]++
				}
			})
		})
	}
}

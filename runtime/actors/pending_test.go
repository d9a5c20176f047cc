package actors_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// TestPendingActorsEnd checks the wait for an actor of the own rank that is never spawned. When the
// wait ends, messages become dead letters with the reason, requests end with ErrDeadLetter, and
// watchers get Terminated.
func TestPendingActorsEnd(t *testing.T) {
	local(t, 1, actors.Config{Patience: 10 * time.Millisecond, Mailbox: 1000}, func(all []*actors.System) {
		s := all[0]
		dead := letters(s)
		for range 2 { // in the second round, a message waits again
			_, err := s.Root.RequestFuture(s.PID(0, "never"), "x", soon).Result()
			require.ErrorIs(t, err, actor.ErrDeadLetter)
			d := next(t, dead)
			require.ErrorIs(t, d, actors.ErrUnknownActor)
			require.Equal(t, "rank:0/never", d.PID.Address+"/"+d.PID.Id)
			require.Equal(t, "x", d.Message)
		}
		watcher, heard := watcher(t, s, "watcher")
		ask(t, s, watcher, s.PID(0, "never"))
		require.Equal(t, actor.TerminatedReason_NotFound, next(t, heard).Why)
		s.Root.Stop(s.PID(0, "never")) // has no effect
		in := inbox(t, s, "never", s.Worker())
		s.Root.Send(s.PID(0, "never"), "lives")
		require.Equal(t, "lives", next(t, in))
		require.Empty(t, dead)
	})
}

// TestPendingActorsAreBounded checks that the messages for an actor that does not exist yet are
// bounded like those in a mailbox. The stored messages must reach the spawned actor.
func TestPendingActorsAreBounded(t *testing.T) {
	local(t, 1, actors.Config{Mailbox: 1000, Patience: soon}, func(all []*actors.System) {
		s := all[0]
		dead := letters(s)
		late := s.PID(0, "late")
		for i := range 3 {
			s.Root.Send(late, fmt.Sprintf("%d%400d", i, 0))
		}
		d := next(t, dead)
		require.ErrorIs(t, d, actors.ErrMailboxFull)
		require.Equal(t, "2", d.Message.(string)[:1])
		s.Root.Poison(late)
		in := inbox(t, s, "late", s.Inline())
		require.Equal(t, "0", next(t, in).(string)[:1])
		require.Equal(t, "1", next(t, in).(string)[:1])

		// The PoisonPill has arrived after the messages. After the end of the actor no actor has
		// the name, and the same PID leads to the next actor with this name.
		require.Eventually(t, func() bool {
			_, lives := s.ProcessRegistry.GetLocal("late")
			return !lives
		}, soon, time.Millisecond)
		s.Root.Send(late, "again")
		require.Equal(t, "again", next(t, inbox(t, s, "late", s.Worker())))
		require.Empty(t, dead)
	})
}

// TestOrderWhileAnActorAppears checks that the messages of each sender keep their order while the
// actor is spawned, even if a sender uses several PIDs that System.PID has returned.
func TestOrderWhileAnActorAppears(t *testing.T) {
	const senders, messages = 4, 300
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			local(t, 1, actors.Config{}, func(all []*actors.System) {
				s := all[0]
				var sent, half sync.WaitGroup
				half.Add(senders)
				for from := range senders {
					sent.Go(func() {
						pids := []*actor.PID{s.PID(0, "late"), s.PID(0, "late")}
						for i := range messages {
							s.Root.Send(pids[i%2], plain{int64(from), int64(i)})
							if i == messages/2 {
								half.Done()
							}
						}
						s.Root.Send(s.PID(0, "late"), plain{int64(from), messages})
					})
				}
				half.Wait()
				in := inbox(t, s, "late", mode(s))
				var got [senders]int64
				for range senders * (messages + 1) {
					m := next(t, in).(plain)
					require.Equal(t, got[m.A], m.B, "of %d", m.A)
					got[m.A]++
				}
				sent.Wait()
			})
		})
	}
}

// slowBox is a mailbox that delays the delivery of its first message until the channel may is closed.
// The later messages are delivered at once.
type slowBox struct {
	actor.Mailbox
	begun, may chan struct{}
	later      atomic.Bool
	got        chan any
}

func newSlowBox() *slowBox {
	return &slowBox{Mailbox: actor.Unbounded()(), begun: make(chan struct{}), may: make(chan struct{}), got: make(chan any, 9)}
}

func (b *slowBox) PostUserMessage(m any) {
	if !b.later.Swap(true) {
		close(b.begun)
		<-b.may
	}
	b.got <- m
}

// TestNothingOvertakesABacklog checks that no message of the own rank or of another rank
// overtakes the backlog of an actor that has just been spawned.
func TestNothingOvertakesABacklog(t *testing.T) {
	for name, from := range map[string]int{"own rank": 1, "other rank": 0} {
		t.Run(name, func(t *testing.T) {
			local(t, 2, actors.Config{}, func(all []*actors.System) {
				s, sender := all[1], all[from]
				_, err := s.Spawn(idle(), "idle")
				require.NoError(t, err)
				box := newSlowBox()
				pids := []*actor.PID{sender.PID(1, "late"), sender.PID(1, "late")}
				sender.Root.Send(pids[0], 0)
				settle(t, sender, 1)
				spawned := make(chan error)
				go func() {
					_, err := s.Spawn(idle().Configure(actor.WithMailbox(func() actor.Mailbox { return box })), "late")
					spawned <- err
				}()
				next(t, box.begun)
				for i, pid := range append(pids, sender.PID(1, "late")) {
					sender.Root.Send(pid, i+1)
				}
				settle(t, sender, 1)
				close(box.may)
				require.NoError(t, next(t, spawned))
				for i := range 4 {
					require.Equal(t, i, next(t, box.got))
				}
			})
		})
	}
}

// TestRouterToAPendingActor checks a router to an actor of its own rank that is spawned later. The
// actor must get the router's messages, and the router must be notified of the actor's end.
func TestRouterToAPendingActor(t *testing.T) {
	local(t, 1, actors.Config{}, func(all []*actors.System) {
		s := all[0]
		_, err := s.Spawn(idle(), "there")
		require.NoError(t, err)
		turns, err := s.Route(actors.RoundRobin, "turns", s.PID(0, "there"), s.PID(0, "late"))
		require.NoError(t, err)
		ask(t, s, turns, 0)
		s.Root.Send(turns, 1)
		require.Equal(t, 1, next(t, inbox(t, s, "late", s.Worker())))
		require.NoError(t, s.Root.StopFuture(s.PID(0, "late")).Wait())
		require.Eventually(t, func() bool {
			for range 2 {
				if _, err := s.Root.RequestFuture(turns, 2, 50*time.Millisecond).Result(); err != nil {
					return false
				}
			}
			return true
		}, soon, time.Millisecond)
	})
}

// TestAllRanksWaitForAPendingActor checks messages of two ranks that wait for one actor. The
// messages of each sender stay in order, followed by the sender's later messages. The credit of
// messages from the other rank is returned when the actor takes the messages, and also if the
// actor is never spawned.
func TestAllRanksWaitForAPendingActor(t *testing.T) {
	const size, messages = 1000, 3 * engine.StreamWindow / (1000 + 128)
	local(t, 2, actors.Config{Patience: soon}, func(all []*actors.System) {
		here := all[1]
		var sent sync.WaitGroup
		for from, s := range all {
			sent.Go(func() {
				pid := s.PID(1, "late")
				for i := range messages {
					s.Root.Send(pid, fmt.Sprintf("%d %d%*d", from, i, size, 0))
				}
			})
		}
		require.Eventually(t, all[0].Waiting, soon, time.Millisecond, "the credit is spent")
		in := inbox(t, here, "late", here.Worker())
		var got [2]int
		for range 2 * messages {
			var from, i int
			_, err := fmt.Sscanf(next(t, in).(string), "%d %d", &from, &i)
			require.NoError(t, err)
			require.Equal(t, got[from], i, "of rank %d", from)
			got[from]++
		}
		sent.Wait()
	})
	local(t, 2, actors.Config{Patience: 10 * time.Millisecond}, func(all []*actors.System) {
		dead := letters(all[1])
		for range messages { // without credit, Send would block
			all[0].Root.Send(all[0].PID(1, "never"), make([]byte, size))
		}
		require.ErrorIs(t, next(t, dead), actors.ErrUnknownActor)
	})
}

// TestUnknownActorIsWaitedForOnce checks a sender of another rank whose addressee is never spawned. After the first
// messages have waited, later messages of the same sender become dead letters at once, with the same reason. This also
// holds while messages of another sender wait for this actor.
func TestUnknownActorIsWaitedForOnce(t *testing.T) {
	local(t, 2, actors.Config{Patience: 2 * time.Second}, func(all []*actors.System) {
		dead := letters(all[1])
		never := all[0].PID(1, "never")
		said := func(want string) {
			d := next(t, dead)
			require.ErrorIs(t, d, actors.ErrUnknownActor)
			require.Equal(t, want, d.Message)
		}
		all[0].Root.Send(never, "first")
		said("first")
		all[1].Root.Send(all[1].PID(1, "never"), "of another sender") // waits
		for range 3 {
			all[0].Root.Send(never, "later")
			said("later")
		}
		said("of another sender")
	})
}

// TestEndedActorBesideAnotherSender checks a sender whose addressee has ended. Its messages become dead letters at
// once, also while messages of another sender wait for the next actor with this name.
func TestEndedActorBesideAnotherSender(t *testing.T) {
	local(t, 2, actors.Config{Patience: soon}, func(all []*actors.System) {
		_, err := all[1].Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(string); ok {
				c.Respond("answer")
			}
		}), "brief")
		require.NoError(t, err)
		p := all[0].PID(1, "brief")
		_, err = all[0].Root.RequestFuture(p, "x", soon).Result()
		require.NoError(t, err)
		require.NoError(t, all[0].Root.StopFuture(p).Wait())
		all[1].Root.Send(all[1].PID(1, "brief"), "waits")
		_, err = all[0].Root.RequestFuture(p, "x", soon).Result()
		require.ErrorIs(t, err, actor.ErrDeadLetter)
		require.NotNil(t, inbox(t, all[1], "brief", all[1].Worker()))
	})
}

package actors_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// watcher spawns an actor that watches each actor whose PID it gets, and sends every Terminated to the
// returned channel. If it gets the id of an actor of rank 1 as a string, it ends its watch of that actor.
func watcher(t *testing.T, s *actors.System, name string) (*actor.PID, <-chan *actor.Terminated) {
	t.Helper()
	heard := make(chan *actor.Terminated, 1<<12)
	pid, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case *actor.PID:
			c.Watch(m)
			c.Respond(true)
		case string:
			c.Unwatch(actor.NewPID("rank:1", m))
			c.Respond(true)
		case *actor.Terminated:
			heard <- m
		}
	}), name)
	require.NoError(t, err)
	return pid, heard
}

// ask sends a request and requires an answer.
func ask(t *testing.T, s *actors.System, pid *actor.PID, m any) {
	t.Helper()
	_, err := s.Root.RequestFuture(pid, m, soon).Result()
	require.NoError(t, err)
}

// idle returns the properties of an actor that only answers requests.
func idle() *actor.Props {
	return actor.PropsFromFunc(func(c actor.Context) {
		if m, ok := c.Message().(int); ok {
			c.Respond(m)
		}
	})
}

// settle waits until a rank has delivered the messages that were sent to its actors before. The rank must have an actor
// "idle".
func settle(t *testing.T, s *actors.System, rank int) {
	t.Helper()
	ask(t, s, s.PID(rank, "idle"), 1)
}

func TestWatchAcrossRanks(t *testing.T) {
	t.Run("memory", testWatchAcrossRanks)
	t.Run("network", func(t *testing.T) { overNetwork(t); testWatchAcrossRanks(t) })
}

func testWatchAcrossRanks(t *testing.T) {
	t.Helper()
	local(t, 2, actors.Config{Patience: 20 * time.Millisecond}, func(all []*actors.System) {
		s := all[0]
		pid, heard := watcher(t, s, "watcher")
		_, err := all[1].Spawn(idle(), "idle")
		require.NoError(t, err)
		for name, end := range map[string]func(*actor.PID){
			"stop from afar":   func(p *actor.PID) { s.Root.Stop(p) },
			"poison from afar": func(p *actor.PID) { s.Root.Poison(p) },
			"stop there":       func(p *actor.PID) { all[1].Root.Stop(actor.NewPID("rank:1", p.Id)) },
		} {
			there, err := all[1].Spawn(idle(), "")
			require.NoError(t, err)
			ask(t, s, pid, there)
			ask(t, s, there, 1) // returns after the watch has arrived
			end(actor.NewPID(there.Address, there.Id))
			m := next(t, heard)
			require.Equal(t, there.Id, m.Who.Id, name)
			require.Equal(t, "rank:1", m.Who.Address, name)
			require.Equal(t, actor.TerminatedReason_Stopped, m.Why, name)
			// The actor has ended or is about to end. A new watch gets Terminated at once.
			ask(t, s, pid, actor.NewPID(there.Address, there.Id))
			require.Contains(t, []actor.TerminatedReason{actor.TerminatedReason_NotFound, actor.TerminatedReason_Stopped}, next(t, heard).Why, name)
		}
		ask(t, s, pid, s.PID(1, "never was"))
		require.Equal(t, actor.TerminatedReason_NotFound, next(t, heard).Why)
		ask(t, s, pid, s.PID(7, "no rank"))
		require.Equal(t, actor.TerminatedReason_AddressTerminated, next(t, heard).Why)

		there, err := all[1].Spawn(idle(), "unwatched")
		require.NoError(t, err)
		ask(t, s, pid, there)
		ask(t, s, pid, "unwatched")
		require.NoError(t, s.Root.StopFuture(s.PID(1, "unwatched")).Wait())
		settle(t, s, 1)
		require.Empty(t, heard)
	})
}

// TestPanicAtTheEnd checks the end of an actor that panics while it handles actor.Stopped. Its watchers of both
// ranks, its parent and callers of StopFuture must be notified once. The actor must get no further message.
func TestPanicAtTheEnd(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			local(t, 2, unlogged(actors.Config{}), func(all []*actors.System) {
				there := all[1]
				far, heardFar := watcher(t, all[0], "far")
				near, heardNear := watcher(t, there, "near")
				child := actor.PropsFromFunc(func(c actor.Context) {
					switch m := c.Message().(type) {
					case int:
						c.Respond(m)
					case *actor.Stopped:
						panic("at the end")
					}
				}, mode(there))
				ended := make(chan *actor.PID, 2)
				_, err := there.Spawn(actor.PropsFromFunc(func(c actor.Context) {
					switch m := c.Message().(type) {
					case *actor.Started:
						_, err := c.SpawnNamed(child, "ends")
						require.NoError(t, err)
					case *actor.Terminated:
						ended <- m.Who
					}
				}, mode(there)), "parent")
				require.NoError(t, err)
				const id = "parent/ends"
				ask(t, all[0], far, all[0].PID(1, id))
				ask(t, there, near, there.PID(1, id))
				ask(t, all[0], all[0].PID(1, id), 1) // returns after the watches have arrived
				require.NoError(t, there.Root.StopFuture(there.PID(1, id)).Wait())
				require.Equal(t, id, next(t, heardFar).Who.Id)
				require.Equal(t, id, next(t, heardNear).Who.Id)
				require.Equal(t, id, next(t, ended).Id)
				require.False(t, there.Lives(id))
				_, err = all[0].Root.RequestFuture(all[0].PID(1, id), 2, soon).Result()
				require.ErrorIs(t, err, actor.ErrDeadLetter)
				require.NoError(t, there.Root.StopFuture(there.PID(1, "parent")).Wait())
				require.Empty(t, heardFar)
				require.Empty(t, heardNear)
				require.Empty(t, ended)
			})
		})
	}
}

// TestWatchRaces checks watches that race with stops and with the loss of the rank. Every watcher
// must get exactly one Terminated for each actor.
func TestWatchRaces(t *testing.T) {
	t.Run("memory", testWatchRaces)
	t.Run("network", func(t *testing.T) { overNetwork(t); testWatchRaces(t) })
}

func testWatchRaces(t *testing.T) {
	t.Helper()
	const watchers, watched = 8, 100
	for _, lose := range []bool{false, true} {
		t.Run(fmt.Sprint("lose ", lose), func(t *testing.T) {
			err := localErr(3, actors.Config{Patience: time.Second}, func(all []*actors.System) {
				s := all[0]
				var heard []<-chan *actor.Terminated
				var pids []*actor.PID
				for i := range watchers {
					p, h := watcher(t, s, fmt.Sprint("watcher", i))
					pids, heard = append(pids, p), append(heard, h)
				}
				for i := range watched {
					_, err := all[1].Spawn(idle(), fmt.Sprint("w", i))
					require.NoError(t, err)
				}
				var wg sync.WaitGroup
				for _, p := range pids {
					wg.Go(func() {
						for i := range watched {
							s.Root.RequestFuture(p, s.PID(1, fmt.Sprint("w", i)), soon).Wait()
						}
					})
				}
				wg.Go(func() {
					for i := range watched {
						if lose && i == watched/2 {
							s.Lose(1)
							return
						}
						all[1].Root.Stop(all[1].PID(1, fmt.Sprint("w", i)))
					}
				})
				wg.Wait()
				for _, h := range heard {
					seen := map[string]bool{}
					for range watched {
						m := next(t, h)
						require.False(t, seen[m.Who.Id], m.Who.Id)
						seen[m.Who.Id] = true
					}
					require.Empty(t, h)
				}
			})
			require.NoError(t, err)
		})
	}
}

// TestLossOfARank checks that messages to a lost rank become dead letters whose reason is the loss. This holds
// for messages in an outbox, for the message of a blocked call, and for messages that are sent after the loss.
func TestLossOfARank(t *testing.T) {
	t.Run("memory", testLossOfARank)
	t.Run("network", func(t *testing.T) { overNetwork(t); testLossOfARank(t) })
}

func testLossOfARank(t *testing.T) {
	t.Helper()
	require.NoError(t, localErr(2, small, func(all []*actors.System) {
		s := all[0]
		dead := letters(s)
		gate := make(chan struct{})
		_, err := all[1].Spawn(actor.PropsFromFunc(func(actor.Context) { <-gate }), "stuck")
		require.NoError(t, err)
		pid, heard := watcher(t, s, "watcher")
		ask(t, s, pid, s.PID(1, "stuck"))
		_, err = s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(string); ok {
				for range 5000 {
					c.Send(s.PID(1, "stuck"), "x")
				}
				c.Respond(1)
			}
		}), "flood")
		require.NoError(t, err)
		ask(t, s, s.PID(0, "flood"), "go")
		blocked := make(chan struct{})
		go func() {
			defer close(blocked)
			s.Root.Send(s.PID(1, "stuck"), "y")
		}()
		s.Lose(1)
		<-blocked
		require.Equal(t, actor.TerminatedReason_AddressTerminated, next(t, heard).Why)
		_, err = s.Root.RequestFuture(s.PID(1, "stuck"), "z", soon).Result()
		require.ErrorIs(t, err, actor.ErrDeadLetter)
		lost := 0
		for len(dead) > 0 {
			var peer *runtime.PeerError
			d := <-dead
			if require.Error(t, d); errors.As(d, &peer) {
				require.Equal(t, 1, peer.Rank)
				lost++
			} else {
				require.ErrorIs(t, d, actors.ErrMailboxFull)
			}
		}
		require.Greater(t, lost, 2)
		// The flooding actor runs again.
		ask(t, s, s.PID(0, "flood"), "again")
		close(gate)
	}))
}

// TestWatchOfAFutureThatHasEnded checks that nothing is kept of a StopFuture whose timeout came before the end of the
// actor.
func TestWatchOfAFutureThatHasEnded(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		s, gate := all[0], make(chan struct{})
		_, err := all[1].Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(*actor.Stopping); ok {
				<-gate
			}
		}), "slow")
		require.NoError(t, err)
		f := actor.NewFuture(s.ActorSystem, time.Millisecond)
		pid := s.PID(1, "slow")
		process, _ := s.ProcessRegistry.Get(pid)
		process.SendSystemMessage(pid, &actor.Watch{Watcher: f.PID()}) // as StopFuture does
		s.Root.Stop(pid)
		require.ErrorIs(t, f.Wait(), actor.ErrTimeout)
		require.Equal(t, 1, s.Watches())
		close(gate)
		require.Eventually(t, func() bool { return s.Watches() == 0 }, soon, time.Millisecond)
	})
}

// TestWatchesOfARouterThatHasEnded checks that nothing is kept of the watches of a router that was stopped before its
// receivers.
func TestWatchesOfARouterThatHasEnded(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		s := all[0]
		inbox(t, all[1], "in", all[1].Worker())
		router, err := s.Route(actors.Broadcast, "router", s.PID(1, "in"))
		require.NoError(t, err)
		require.Equal(t, 1, s.Watches())
		s.Root.Stop(router)
		require.Zero(t, s.Watches())
	})
}

// TestWatchOfALaterActor lets an actor end that watches many actors of another rank, while a later actor with the same
// name begins to watch the same actors. The later actor must get all Terminated.
func TestWatchOfALaterActor(t *testing.T) {
	const watched, rounds = 1000, 30
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		s := all[0]
		for round := range rounds {
			var there []*actor.PID
			for i := range watched { // the names differ, because a Terminated names its actor by the name alone
				pid, err := all[1].Spawn(idle(), fmt.Sprint("w", round, "-", i))
				require.NoError(t, err)
				there = append(there, s.PID(1, pid.Id))
			}
			watching, heard := make(chan bool, 2), make(chan bool, watched)
			watches := func(c actor.Context) {
				switch c.Message().(type) {
				case *actor.Started:
					for _, pid := range there {
						c.Watch(pid)
					}
					watching <- true
				case *actor.Terminated:
					heard <- true
				}
			}
			first, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				if _, ok := c.Message().(*actor.Stopped); ok {
					_, err := s.Spawn(actor.PropsFromFunc(watches), "watcher")
					assert.NoError(t, err)
				}
				watches(c)
			}), "watcher")
			require.NoError(t, err)
			next(t, watching)
			s.Root.Stop(first)
			next(t, watching)
			for _, pid := range there {
				s.Root.Stop(pid)
			}
			for range watched {
				next(t, heard)
			}
			require.NoError(t, s.Root.StopFuture(s.PID(0, "watcher")).Wait())
		}
	})
}

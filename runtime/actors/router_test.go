package actors_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// keyed is a message with a hash.
type keyed struct{ Key int64 }

func (k keyed) Hash() string { return fmt.Sprint(k.Key) }

func init() { actors.RegisterType[keyed]() }

// initial is a message whose Hash panics if the text is empty.
type initial struct{ Text string }

func (i initial) Hash() string { return i.Text[:1] }

func init() { actors.RegisterType[initial]() }

// TestHashThatPanics checks that a message whose Hash panics is a dead letter of the router. The
// same must hold for a message of another rank, for which the goroutine that delivers arrivals calls
// Hash.
func TestHashThatPanics(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		dead := letters(all[1])
		in := inbox(t, all[1], "in", all[1].Worker())
		_, err := all[1].Route(actors.ConsistentHash, "router", all[1].PID(1, "in"))
		require.NoError(t, err)
		for _, s := range all {
			_, err := s.Root.RequestFuture(s.PID(1, "router"), initial{}, soon).Result()
			require.ErrorIs(t, err, actor.ErrDeadLetter)
			require.ErrorIs(t, next(t, dead), actors.ErrRoute)
			s.Root.Send(s.PID(1, "router"), initial{"x"})
			require.Equal(t, initial{"x"}, next(t, in))
		}
	})
}

// tellers spawns, on each rank, an actor that answers each message with its rank.
func tellers(t *testing.T, all []*actors.System) []*actor.PID {
	t.Helper()
	var pids []*actor.PID
	for rank, s := range all {
		pid, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			switch c.Message().(type) {
			case int, keyed:
				c.Respond(rank)
			}
		}), "teller")
		require.NoError(t, err)
		pids = append(pids, pid)
	}
	return pids
}

func TestRouters(t *testing.T) {
	local(t, 3, actors.Config{}, func(all []*actors.System) {
		s := all[0]
		pids := tellers(t, all)
		in := inbox(t, s, "in", s.Worker())
		from := s.PID(0, "in")
		call := func(router *actor.PID, m any) any {
			v, err := all[1].Root.RequestFuture(actor.NewPID(router.Address, router.Id), m, soon).Result()
			require.NoError(t, err)
			return v
		}

		turns, err := s.Route(actors.RoundRobin, "turns", pids...)
		require.NoError(t, err)
		_, err = s.Route(actors.RoundRobin, "turns")
		require.ErrorIs(t, err, actor.ErrNameExists)
		for i := range 9 {
			require.Equal(t, i%3, call(turns, 1))
		}

		everybody, err := s.Route(actors.Broadcast, "", pids...)
		require.NoError(t, err)
		s.Root.RequestWithCustomSender(everybody, 1, from)
		require.ElementsMatch(t, []any{0, 1, 2}, []any{next(t, in), next(t, in), next(t, in)})

		quickest, err := s.Route(actors.FirstAnswer, "", pids...)
		require.NoError(t, err)
		for range 20 {
			require.Contains(t, []any{0, 1, 2}, call(quickest, 1))
		}

		hashed, err := s.Route(actors.ConsistentHash, "", pids...)
		require.NoError(t, err)
		before, used := map[int64]any{}, map[any]bool{}
		for k := range int64(60) {
			before[k] = call(hashed, keyed{k})
			used[before[k]] = true
			require.Equal(t, before[k], call(hashed, keyed{k}))
		}
		require.Len(t, used, 3)

		dead := letters(s)
		s.Root.Send(hashed, 1)
		require.ErrorIs(t, next(t, dead), actors.ErrRoute)
		s.Root.Send(everybody, new(runtime.Message))
		require.ErrorIs(t, next(t, dead), actors.ErrRoute)

		// The end of one actor does not change which keys the other actors get.
		require.NoError(t, s.Root.StopFuture(s.PID(1, "teller")).Wait())
		require.Eventually(t, func() bool {
			return !slices.Contains([]any{call(turns, 1), call(turns, 1), call(turns, 1)}, any(1))
		}, soon, time.Millisecond)
		for k, v := range before {
			now := call(hashed, keyed{k})
			require.NotEqual(t, 1, now)
			if v != 1 {
				require.Equal(t, v, now, k)
			}
		}

		// A router can be watched and stopped like an actor.
		require.NoError(t, all[1].Root.StopFuture(actor.NewPID(turns.Address, turns.Id)).Wait())
		s.Root.Stop(s.PID(0, "teller"))
		s.Root.Stop(s.PID(2, "teller"))
		require.Eventually(t, func() bool {
			s.Root.Send(hashed, keyed{1})
			for len(dead) > 0 {
				if d := <-dead; d.PID.Id == hashed.Id {
					return true
				}
			}
			return false
		}, soon, time.Millisecond)
	})
}

// TestHeadersPassRouters checks that a receiver gets the headers of a request.
func TestHeadersPassRouters(t *testing.T) {
	local(t, 1, actors.Config{}, func(all []*actors.System) {
		s := all[0]
		pid, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(int); ok {
				c.Respond(c.MessageHeader().Get("key"))
			}
		}), "")
		require.NoError(t, err)
		for _, how := range []actors.Routing{actors.RoundRobin, actors.Broadcast, actors.FirstAnswer} {
			router, err := s.Route(how, "", pid)
			require.NoError(t, err)
			f := actor.NewFuture(s.ActorSystem, soon)
			s.Root.Send(router, &actor.MessageEnvelope{Header: map[string]string{"key": "value"}, Message: 1, Sender: f.PID()})
			v, err := f.Result()
			require.NoError(t, err)
			require.Equal(t, "value", v, how)
		}
	})
}

// TestFirstAnswerAlone sends requests to a router with two receivers, one of which does not answer, and to a router
// whose only receiver does not answer. Of the answered requests nothing may remain, and of the unanswered requests
// only a few. An answer that comes after the first one must be dropped.
func TestFirstAnswerAlone(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		const n, few = 300, 64
		s := all[0]
		late, asked := make(chan *actor.PID, n), make(chan *actor.PID, n)
		_, err := s.Spawn(idle(), "idle")
		require.NoError(t, err)
		_, err = all[1].Spawn(actor.PropsFromFunc(func(c actor.Context) {
			switch m := c.Message().(type) {
			case int:
				asked <- c.Sender()
			case string:
				c.Send(<-late, m)
				c.Respond(m)
			}
		}), "mute")
		require.NoError(t, err)
		quick, err := s.Route(actors.FirstAnswer, "", s.PID(0, "idle"), s.PID(1, "mute"))
		require.NoError(t, err)
		for range n {
			ask(t, s, quick, 1)
			late <- next(t, asked)
		}
		require.Eventually(t, func() bool { return s.Futures() == 0 }, soon, time.Millisecond)
		dead := letters(s)
		for range n {
			ask(t, s, s.PID(1, "mute"), "late")
		}
		require.Empty(t, dead)
		letters := make(chan any, n)
		s.EventStream.Subscribe(func(event any) {
			if d, ok := event.(*actor.DeadLetterEvent); ok {
				letters <- d
			}
		})
		release, here := make(chan struct{}), make(chan struct{})
		_, err = s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(int); ok {
				<-release
				c.Respond(1)
				close(here)
			}
		}), "slow")
		require.NoError(t, err)
		near, err := s.Route(actors.FirstAnswer, "", s.PID(0, "idle"), s.PID(0, "slow"))
		require.NoError(t, err)
		ask(t, s, near, 1)
		close(release)
		<-here
		require.Empty(t, letters, "a late answer of an actor of this rank")

		mute, err := s.Route(actors.FirstAnswer, "", s.PID(1, "mute"))
		require.NoError(t, err)
		for range n {
			_, err := s.Root.RequestFuture(mute, 1, time.Microsecond).Result()
			require.ErrorIs(t, err, actor.ErrTimeout)
		}
		require.LessOrEqual(t, s.Futures(), few+1)
		require.LessOrEqual(t, s.Questions(), 2*few)
	})
}

// TestFirstAnswerToEndedActors checks that only a few futures remain of requests whose requesters have ended, if no
// receiver answers them.
func TestFirstAnswerToEndedActors(t *testing.T) {
	local(t, 1, actors.Config{}, func(all []*actors.System) {
		const n, few = 300, 64
		s := all[0]
		mute, err := s.Spawn(actor.PropsFromFunc(func(actor.Context) {}), "mute")
		require.NoError(t, err)
		router, err := s.Route(actors.FirstAnswer, "", mute)
		require.NoError(t, err)
		for range n {
			pid, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				if _, ok := c.Message().(*actor.Started); ok {
					c.Request(router, 1)
				}
			}), "")
			require.NoError(t, err)
			require.NoError(t, s.Root.StopFuture(pid).Wait())
		}
		require.LessOrEqual(t, s.Futures(), few+1)
	})
}

// TestRoutersKeepTheCredit sends messages of another rank through forwarders to an actor that does not take
// them. The sender must wait for credit, and all messages must arrive when the actor takes them.
func TestRoutersKeepTheCredit(t *testing.T) {
	route := func(how actors.Routing) func(*actors.System, *actor.Props) error {
		return func(s *actors.System, slow *actor.Props) error {
			if _, err := s.Spawn(slow, "slow"); err != nil {
				return err
			}
			_, err := s.Route(how, "router", s.PID(1, "slow"))
			return err
		}
	}
	for name, test := range map[string]struct {
		id    string
		start func(s *actors.System, slow *actor.Props) error
	}{
		"in turn": {"router", route(actors.RoundRobin)},
		"by hash": {"router", route(actors.ConsistentHash)},
		"among": {"among$slow", func(s *actors.System, slow *actor.Props) error {
			_, err := s.SpawnAmong(slow, "slow", 1)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			local(t, 2, small, func(all []*actors.System) {
				const n, window = 5000, 256 << 10 / 136 // a message takes a credit of 136 bytes
				gate, got := make(chan struct{}), make(chan keyed, n)
				require.NoError(t, test.start(all[1], actor.PropsFromFunc(func(c actor.Context) {
					if m, ok := c.Message().(keyed); ok {
						<-gate
						got <- m
					}
				})))
				_, err := all[1].Spawn(idle(), "idle")
				require.NoError(t, err)
				to := all[0].PID(1, test.id)
				var sent atomic.Int64
				go func() {
					for i := range n {
						all[0].Root.Send(to, keyed{int64(i)})
						sent.Add(1)
					}
				}()
				require.Eventually(t, func() bool { return all[0].Waiting() && sent.Load() == window }, soon, time.Millisecond)
				for range 100 { // credit that was returned arrives before these answers
					ask(t, all[0], all[0].PID(1, "idle"), 1)
				}
				require.EqualValues(t, window, sent.Load())
				close(gate)
				for i := range n {
					require.Equal(t, keyed{int64(i)}, next(t, got))
				}
			})
		})
	}
}

// TestReceiversOfARouterWorkTogether checks that receivers that are at work do not keep the credit of their messages from
// the other receivers of the router. The messages take more credit than the window has.
func TestReceiversOfARouterWorkTogether(t *testing.T) {
	const receivers = 8
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		works, goOn := make(chan bool, receivers), make(chan bool)
		defer close(goOn)
		var to []*actor.PID
		for range receivers {
			pid, err := all[1].Spawn(actor.PropsFromFunc(func(c actor.Context) {
				if _, ok := c.Message().([]byte); ok {
					works <- true
					<-goOn
				}
			}), "")
			require.NoError(t, err)
			to = append(to, pid)
		}
		_, err := all[1].Route(actors.RoundRobin, "router", to...)
		require.NoError(t, err)
		go func() {
			for range receivers {
				all[0].Root.Send(all[0].PID(1, "router"), make([]byte, engine.StreamWindow/4))
			}
		}()
		for range receivers {
			next(t, works)
		}
	})
}

// TestOrderThroughARouter checks that messages of one actor to an actor of another rank, directly and through a router
// of that rank, arrive in order. The messages are within the credit of both streams.
func TestOrderThroughARouter(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		const n = 800
		in := inbox(t, all[0], "in", all[0].Worker())
		r, err := all[0].Route(actors.RoundRobin, "r", all[0].PID(0, "in"))
		require.NoError(t, err)
		direct, router := all[1].PID(0, "in"), actor.NewPID(r.Address, r.Id)
		_, err = all[1].Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(*actor.Started); ok {
				for i := range n {
					c.Send(direct, 2*i)
					c.Send(router, 2*i+1)
				}
			}
		}), "sender")
		require.NoError(t, err)
		for i := range 2 * n {
			require.Equal(t, i, next(t, in))
		}
	})
}

// TestRouteWithWrongArguments checks that a router refuses a nil PID, which would panic at the first message, and an
// unknown Routing.
func TestRouteWithWrongArguments(t *testing.T) {
	local(t, 1, actors.Config{}, func(all []*actors.System) {
		s := all[0]
		for how, to := range map[actors.Routing]*actor.PID{actors.RoundRobin: nil, actors.FirstAnswer + 1: s.PID(0, "in")} {
			_, err := s.Route(how, "", to)
			require.ErrorIs(t, err, runtime.ErrArgument)
		}
	})
}

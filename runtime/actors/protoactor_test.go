package actors_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
)

// The tests of this file whose names begin with TestExample are the examples of protoactor's documentation,
// with the actor on one rank and the code that uses the actor on another rank. The only difference is the
// origin of the PIDs.

// far returns a copy of a PID for another rank. Ranks of one process must not share PIDs, because a
// PID caches its Process.
func far(pid *actor.PID) *actor.PID { return actor.NewPID(pid.Address, pid.Id) }

type hello struct{ Who string }

type helloActor struct{}

func (*helloActor) Receive(c actor.Context) {
	if m, ok := c.Message().(*hello); ok {
		c.Respond("Hello " + m.Who)
	}
}

func init() { actors.RegisterType[hello]() }

// TestExampleHelloWorld runs examples/actor-helloworld and actor-requestresponse.
func TestExampleHelloWorld(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		props := actor.PropsFromProducer(func() actor.Actor { return &helloActor{} })
		pid, err := all[1].Root.SpawnNamed(props, "hello")
		require.NoError(t, err)
		future := all[0].Root.RequestFuture(far(pid), &hello{Who: "Roger"}, soon)
		result, err := future.Result()
		require.NoError(t, err)
		require.Equal(t, "Hello Roger", result)
	})
}

// behaving is SetBehaviorActor of examples/actor-behavior.
type behaving struct{ actor.Behavior }

func newBehaving() actor.Actor {
	a := &behaving{actor.NewBehavior()}
	a.Become(a.one)
	return a
}

func (a *behaving) Receive(c actor.Context) { a.Behavior.Receive(c) }

func (a *behaving) one(c actor.Context) {
	if _, ok := c.Message().(*hello); ok {
		c.Respond("one")
		a.Become(a.other)
	}
}

func (a *behaving) other(c actor.Context) {
	if _, ok := c.Message().(*hello); ok {
		c.Respond("other")
	}
}

func TestExampleBehavior(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		pid := all[1].Root.Spawn(actor.PropsFromProducer(newBehaving))
		for _, want := range []string{"one", "other", "other"} {
			v, err := all[0].Root.RequestFuture(far(pid), &hello{}, soon).Result()
			require.NoError(t, err)
			require.Equal(t, want, v)
		}
	})
}

// TestExampleSupervision runs examples/actor-supervision, in which a child panics and is
// restarted by the strategy of its parent. As in examples/actor-lifecycleevents, the child gets
// the events of the restart.
func TestExampleSupervision(t *testing.T) {
	strategies := map[string]actor.SupervisorStrategy{
		"one for one": actor.NewOneForOneStrategy(10, time.Second, func(any) actor.Directive { return actor.RestartDirective }),
		"all for one": actor.NewAllForOneStrategy(10, time.Second, func(any) actor.Directive { return actor.RestartDirective }),
		"restarting":  actor.NewRestartingStrategy(),
		"backoff":     actor.NewExponentialBackoffStrategy(time.Second, time.Millisecond),
	}
	for name, strategy := range strategies {
		for mode, option := range modes {
			t.Run(name+" "+mode, func(t *testing.T) {
				local(t, 2, actors.Config{}, func(all []*actors.System) {
					var starts atomic.Int32
					child := actor.PropsFromFunc(func(c actor.Context) {
						switch m := c.Message().(type) {
						case *actor.Started:
							starts.Add(1)
						case *hello:
							panic("ouch")
						case string:
							c.Respond(m)
						}
					}, option(all[1]))
					parent := actor.PropsFromFunc(func(c actor.Context) {
						if _, ok := c.Message().(string); ok {
							c.Respond(c.Spawn(child))
						}
					}, actor.WithSupervisor(strategy))
					pid := all[1].Root.Spawn(parent)
					v, err := all[0].Root.RequestFuture(far(pid), "child", soon).Result()
					require.NoError(t, err)
					for range 3 {
						all[0].Root.Send(v.(*actor.PID), &hello{})
						answer, err := all[0].Root.RequestFuture(v.(*actor.PID), "well?", soon).Result()
						require.NoError(t, err)
						require.Equal(t, "well?", answer)
					}
					require.Equal(t, int32(4), starts.Load())
				})
			})
		}
	}
}

// TestExampleReenter runs examples/actor-reenter with a worker and with an inline actor, which must
// not wait. It also pipes a future to an actor of another rank.
func TestExampleReenter(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			local(t, 2, actors.Config{}, func(all []*actors.System) {
				slow := all[1].Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return &helloActor{} }))
				pid := all[0].Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
					if m, ok := c.Message().(*hello); ok {
						sender := c.Sender()
						f := c.RequestFuture(far(slow), m, soon)
						c.ReenterAfter(f, func(v any, err error) {
							require.NoError(t, err)
							c.Send(sender, v.(string)+"!")
						})
					}
				}, mode(all[0])))
				v, err := all[1].Root.RequestFuture(far(pid), &hello{"you"}, soon).Result()
				require.NoError(t, err)
				require.Equal(t, "Hello you!", v)

				in := inbox(t, all[1], "in", mode(all[1]))
				all[0].Root.RequestFuture(far(slow), &hello{"pipe"}, soon).PipeTo(all[0].PID(1, "in"))
				require.Equal(t, "Hello pipe", next(t, in))
			})
		})
	}
}

// TestExampleMiddlewareAndTouch runs examples/actor-middleware. protoactor itself answers the Touch
// (AutoRespond).
func TestExampleMiddlewareAndTouch(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		var seen atomic.Int32
		props := actor.PropsFromProducer(func() actor.Actor { return &helloActor{} },
			actor.WithReceiverMiddleware(func(nextOne actor.ReceiverFunc) actor.ReceiverFunc {
				return func(c actor.ReceiverContext, e *actor.MessageEnvelope) {
					seen.Add(1)
					nextOne(c, e)
				}
			}))
		pid := all[1].Root.Spawn(props)
		v, err := all[0].Root.RequestFuture(far(pid), &actor.Touch{}, soon).Result()
		require.NoError(t, err)
		require.True(t, v.(*actor.Touched).Who.Equal(pid))
		require.GreaterOrEqual(t, seen.Load(), int32(2))
	})
}

// parts is a batch of messages. Its method GetMessages panics if there are none.
type parts []any

// GetMessages implements actor.MessageBatch.
func (p parts) GetMessages() []any {
	if len(p) == 0 {
		panic("no parts")
	}
	return p
}

// three is a batch of plain data.
type three [3]int64

// GetMessages implements actor.MessageBatch.
func (p *three) GetMessages() []any { return []any{int(p[0]), parts{int(p[1])}, int(p[2])} }

func init() {
	actors.RegisterType[parts]()
	actors.RegisterType[three]()
}

// batched spawns an actor that answers a batch by the numbers that it has got since its last answer, with -1 for each
// batch.
func batched(t *testing.T, s *actors.System, name string, mailbox actor.PropsOption) {
	t.Helper()
	var got []int
	_, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case int:
			got = append(got, m)
		case parts, *three:
			if got = append(got, -1); c.Sender() != nil {
				c.Respond(rich{Name: fmt.Sprint(got)})
				got = nil
			}
		}
	}, mailbox), name)
	require.NoError(t, err)
}

// TestMessageBatch checks that an actor gets the parts of a batch and then the batch itself, as with a mailbox of
// protoactor. The batch may be a request. It comes from the actor's rank or another one, comes through a router, or has
// waited for the actor. A batch whose GetMessages panics is a dead letter.
func TestMessageBatch(t *testing.T) {
	local(t, 2, actors.Config{Patience: soon}, func(all []*actors.System) {
		s := all[0]
		_, err := s.Spawn(idle(), "idle")
		require.NoError(t, err)
		mailboxes := map[string]actor.PropsOption{"protoactor": actor.WithMailbox(actor.Unbounded()), "worker": s.Worker(), "inline": s.Inline()}
		for name, mailbox := range mailboxes {
			for from, sender := range all {
				name := fmt.Sprint(name, from)
				early := sender.Root.RequestFuture(sender.PID(0, name), parts{7, 8, 9}, soon)
				settle(t, sender, 0)
				batched(t, s, name, mailbox)
				router, err := s.Route(actors.RoundRobin, "to "+name, s.PID(0, name))
				require.NoError(t, err)
				v, err := early.Result()
				require.NoError(t, err, name)
				require.Equal(t, rich{Name: "[7 8 9 -1]"}, v, name)
				for _, id := range []string{name, router.Id} {
					for want, m := range map[string]any{"[7 -1]": parts{7}, "[1 2 -1 3 -1]": &three{1, 2, 3}} {
						v, err := sender.Root.RequestFuture(sender.PID(0, id), m, soon).Result()
						require.NoError(t, err, id)
						require.Equal(t, rich{Name: want}, v, id)
					}
				}
			}
		}
		dead := letters(s)
		_, err = s.Route(actors.Broadcast, "all", s.PID(0, "worker1"))
		require.NoError(t, err)
		for _, name := range []string{"worker1", "inline1", "all"} {
			for _, sender := range all {
				_, err := sender.Root.RequestFuture(sender.PID(0, name), parts{}, soon).Result()
				require.ErrorIs(t, err, actor.ErrDeadLetter)
				require.ErrorContains(t, next(t, dead), "parts of a batch: panic: no parts")
			}
		}
	})
}

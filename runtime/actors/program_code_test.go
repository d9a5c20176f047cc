package actors_test

import (
	"fmt"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// TestBatchThatPanics sends batches whose GetMessages panics to an actor with a mailbox of protoactor. Each batch that
// comes from another rank, comes through a router, or has waited for the actor must become a dead letter.
func TestBatchThatPanics(t *testing.T) {
	local(t, 2, actors.Config{Patience: soon}, func(all []*actors.System) {
		s, far := all[0], all[1]
		_, err := s.Spawn(idle(), "idle")
		require.NoError(t, err)
		dead := letters(s)
		dies := func(f *actor.Future) {
			_, err := f.Result()
			require.ErrorIs(t, err, actor.ErrDeadLetter)
			require.ErrorContains(t, next(t, dead), "panic: no parts")
		}
		near := s.PID(0, "own")
		early := []*actor.Future{s.Root.RequestFuture(near, parts{}, soon), far.Root.RequestFuture(far.PID(0, "own"), parts{}, soon)}
		settle(t, far, 0)
		batched(t, s, "own", actor.WithMailbox(actor.Unbounded()))
		for _, f := range early {
			dies(f)
		}
		for how, name := range map[actors.Routing]string{actors.RoundRobin: "turns", actors.Broadcast: "all"} {
			_, err := s.Route(how, name, s.NewLocalPID("own"))
			require.NoError(t, err)
		}
		for _, name := range []string{"own", "turns", "all"} {
			dies(far.Root.RequestFuture(far.PID(0, name), parts{}, soon))
		}
		v, err := far.Root.RequestFuture(far.PID(0, "own"), parts{7}, soon).Result()
		require.NoError(t, err)
		require.Equal(t, rich{Name: "[7 -1]"}, v)
	})
}

// brittle is a message whose codec panics if N is 2. N increases by 1 on the way to another rank.
type brittle struct{ N int }

type brittleCodec struct{}

// Append implements actors.Codec.
func (brittleCodec) Append(b []byte, m *brittle) ([]byte, error) {
	if m.N == 2 {
		panic("brittle")
	}
	return append(b, byte(m.N)), nil
}

// Decode implements actors.Codec.
func (brittleCodec) Decode(b []byte, m *brittle) error {
	m.N = int(b[0]) + 1
	return nil
}

func init() { actors.RegisterCodec[brittle](brittleCodec{}) }

// TestForwardingThatPanics sends messages to routers of another rank, which forward them to a third rank. A message
// whose codec panics then must become a dead letter of the router's rank.
func TestForwardingThatPanics(t *testing.T) {
	local(t, 3, actors.Config{}, func(all []*actors.System) {
		dead := letters(all[1])
		in := inbox(t, all[2], "in", all[2].Worker())
		for _, how := range []actors.Routing{actors.RoundRobin, actors.Broadcast, actors.FirstAnswer} {
			name := fmt.Sprint("router", how)
			_, err := all[1].Route(how, name, all[1].PID(2, "in"))
			require.NoError(t, err)
			_, err = all[0].Root.RequestFuture(all[0].PID(1, name), brittle{1}, soon).Result()
			require.ErrorIs(t, err, actor.ErrDeadLetter)
			require.ErrorContains(t, next(t, dead), "panic: brittle")
			all[0].Root.Send(all[0].PID(1, name), brittle{5})
			require.Equal(t, brittle{7}, next(t, in))
		}
	})
}

// TestForwardedAnswerThatPanics checks that a request through a router with FirstAnswer ends if the codec panics when
// the router's rank sends the answer on. The answer is that of an actor of the router's rank or of a third rank.
func TestForwardedAnswerThatPanics(t *testing.T) {
	local(t, 3, actors.Config{}, func(all []*actors.System) {
		dead := letters(all[1])
		for rank, answer := range map[int]brittle{1: {2}, 2: {1}} {
			receiver, err := all[rank].Spawn(actor.PropsFromFunc(func(c actor.Context) {
				if _, ok := c.Message().(int); ok {
					c.Respond(answer)
				}
			}), "")
			require.NoError(t, err)
			router, err := all[1].Route(actors.FirstAnswer, "", all[1].PID(rank, receiver.Id))
			require.NoError(t, err)
			_, err = all[0].Root.RequestFuture(all[0].PID(1, router.Id), 1, soon).Result()
			require.ErrorIs(t, err, actor.ErrDeadLetter)
			require.ErrorContains(t, next(t, dead), "panic: brittle")
		}
	})
}

// TestOneReceiverPanics checks that a message to several receivers reaches the second one if its codec panics for the
// first one, which is at another rank.
func TestOneReceiverPanics(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		s := all[0]
		dead := letters(s)
		inbox(t, all[1], "far", all[1].Worker())
		in := inbox(t, s, "near", s.Worker())
		for _, how := range []actors.Routing{actors.Broadcast, actors.FirstAnswer} {
			router, err := s.Route(how, "", s.PID(1, "far"), s.PID(0, "near"))
			require.NoError(t, err)
			s.Root.RequestWithCustomSender(router, brittle{2}, s.PID(0, "nobody"))
			require.ErrorContains(t, next(t, dead), "panic: brittle")
			require.Equal(t, brittle{2}, next(t, in))
		}
	})
}

// TestPipedResultThatPanics checks that a result of PipeTo becomes a dead letter if its codec or GetMessages panics.
func TestPipedResultThatPanics(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		s := all[0]
		dead := letters(s)
		inbox(t, all[1], "far", all[1].Worker())
		batched(t, s, "own", actor.WithMailbox(actor.Unbounded()))
		for name, result := range map[string]any{"far": brittle{2}, "own": parts{}} {
			pid := s.PID(0, name)
			if name == "far" {
				pid = s.PID(1, name)
			}
			s.PipeTo(runtime.Request{}, pid, result)
			require.ErrorContains(t, next(t, dead), "panic: ")
		}
	})
}

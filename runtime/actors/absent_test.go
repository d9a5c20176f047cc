package actors_test

import (
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// TestRankWithoutActors checks that a rank without actors blocks no sender for ever. Messages to
// this rank become dead letters whose reason says that the rank has no actors, and an actor that
// watches an actor of this rank gets Terminated. If the rank makes its System later, this System
// knows the message types that senders have defined before.
func TestRankWithoutActors(t *testing.T) {
	f := transporttest.NewFake(2, transporttest.FakeOptions{NoHandover: true})
	s := fakeRank(t, f, 2, 0, engine.Config{})(0)
	later := fakeRank(t, f, 2, 1, engine.Config{Early: 10 * time.Millisecond})
	dead := letters(s)
	pid, heard := watcher(t, s, "watcher")
	ask(t, s, pid, s.PID(1, "in"))
	asked := s.Root.RequestFuture(s.PID(1, "in"), 1, soon)
	told := make(chan bool)
	go func() {
		defer close(told)
		for range 3 * engine.StreamWindow / 1000 {
			s.Root.Send(s.PID(1, "in"), make([]byte, 1000))
		}
		s.Root.Send(s.PID(1, "in"), &plain{1, 2})
	}()
	next(t, told)
	require.ErrorIs(t, next(t, dead), actors.ErrNoActors)
	m := next(t, heard)
	require.Equal(t, actor.TerminatedReason_NotFound, m.Why)
	require.True(t, m.Who.Equal(s.PID(1, "in")))

	require.ErrorIs(t, asked.Wait(), actor.ErrDeadLetter)
	require.ErrorIs(t, s.Root.RequestFuture(s.PID(1, "in"), 2, soon).Wait(), actor.ErrDeadLetter)

	there := later(0)
	in := inbox(t, there, "in", there.Worker())
	require.Eventually(t, func() bool {
		s.Root.Send(s.PID(1, "in"), &plain{3, 4})
		return len(in) > 0
	}, soon, time.Millisecond)
	for {
		if m, ok := next(t, in).(*plain); ok && *m == (plain{3, 4}) {
			break
		}
	}
	ask(t, s, pid, s.PID(1, "$names"))
	require.Empty(t, heard)
}

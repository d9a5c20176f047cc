package actors_test

import (
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// unready makes the System of rank 0, and a function that makes that of rank 1. Until the call of this function,
// rank 1 keeps actor messages for the time early.
func unready(t *testing.T, early time.Duration) (s *actors.System, dead <-chan *actors.DeadLetter, later func() *actors.System) {
	t.Helper()
	f := transporttest.NewFake(2, transporttest.FakeOptions{NoHandover: true})
	s = fakeRank(t, f, 2, 0, engine.Config{})(0)
	of := fakeRank(t, f, 2, 1, engine.Config{Early: early})
	return s, letters(s), func() *actors.System { return of(0) }
}

// fill sends more messages to a rank without actors than the rank stores.
func fill(t *testing.T, s *actors.System, dead <-chan *actors.DeadLetter) {
	t.Helper()
	_, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(string); ok {
			const window, space = engine.StreamWindow, 4 << 20
			n := s.FrameMax(1)
			for i := range 3 * space / window {
				for range window / 2 / (n + 128) {
					c.Send(s.PID(1, fmt.Sprint("other", i)), make([]byte, n))
				}
			}
			c.Respond("sent")
		}
	}), "flood")
	require.NoError(t, err)
	ask(t, s, s.PID(0, "flood"), "go")
	require.ErrorIs(t, next(t, dead), actors.ErrNoActors)
}

// TestRefusedLongMessage checks that nothing is left of long messages whose announcement a rank without actors has
// refused: neither at the sender, nor at the receiver when it has actors. One of the messages is short enough to be
// sent eagerly.
func TestRefusedLongMessage(t *testing.T) {
	s, dead, later := unready(t, time.Millisecond)
	most := s.FrameMax(1)
	for _, n := range []int{1 << 20, most, 1 << 20} {
		// With its header, the second message is longer than a frame.
		s.Root.Send(s.PID(1, "in"), &actor.MessageEnvelope{Header: map[string]string{"h": "x"}, Message: make([]byte, n)})
		require.ErrorIs(t, next(t, dead), actors.ErrNoActors)
	}
	require.Eventually(t, func() bool { return s.Pushes() == 0 }, soon, time.Millisecond)
	there := later()
	require.Zero(t, there.Unreceived())
	in := inbox(t, there, "in", there.Worker())
	s.Root.Send(s.PID(1, "in"), make([]byte, 1<<20))
	require.Len(t, next(t, in), 1<<20)
}

// TestOneDeadLetter checks that a refused message is one dead letter, although its type and the name of its actor were
// refused, too.
func TestOneDeadLetter(t *testing.T) {
	s, dead, _ := unready(t, time.Millisecond)
	for range 3 {
		s.Root.Send(s.PID(1, "in"), &plain{1, 2})
		require.ErrorIs(t, next(t, dead), actors.ErrNoActors)
	}
	// The refusals come in order.
	s.Root.Stop(s.PID(1, "in"))
	require.IsType(t, &actor.Stop{}, next(t, dead).Message)
	require.Empty(t, dead)
}

// TestRefusedRequests checks that refused requests get an answer: those of a future and those of an actor, with a head
// of any length.
func TestRefusedRequests(t *testing.T) {
	s, _, _ := unready(t, time.Millisecond)
	for _, header := range []string{"", strings.Repeat("long", 500)} {
		f := actor.NewFuture(s.ActorSystem, soon)
		s.Root.Send(s.PID(1, "in"), &actor.MessageEnvelope{Header: map[string]string{"h": header}, Message: 1, Sender: f.PID()})
		require.ErrorIs(t, f.Wait(), actor.ErrDeadLetter)
	}
	answered := make(chan bool, 1)
	_, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch c.Message().(type) {
		case *actor.Started:
			c.Request(s.PID(1, "in"), 1)
		case *actor.DeadLetterResponse:
			answered <- true
		}
	}), "asks")
	require.NoError(t, err)
	next(t, answered)
}

// TestKeptRequest checks that the refusal of a message ends no request and no watch that a rank without actors has
// kept. The request is answered, and the watch ends with the actor.
func TestKeptRequest(t *testing.T) {
	s, dead, later := unready(t, time.Hour)
	pid := s.PID(1, "in")
	asked := s.Root.RequestFuture(pid, 1, soon)
	w, heard := watcher(t, s, "watcher")
	ask(t, s, w, pid)
	fill(t, s, dead)
	s.Root.Send(pid, make([]byte, 3000))
	refused := s.Root.RequestFuture(pid, 2, soon)
	require.ErrorIs(t, refused.Wait(), actor.ErrDeadLetter)
	other, ends := watcher(t, s, "other")
	ask(t, s, other, pid)
	require.Equal(t, actor.TerminatedReason_NotFound, next(t, ends).Why)

	there := later()
	_, err := there.Spawn(idle(), "in")
	require.NoError(t, err)
	v, err := asked.Result()
	require.NoError(t, err)
	require.Equal(t, 1, v)
	there.Root.Stop(there.PID(1, "in"))
	require.Equal(t, actor.TerminatedReason_Stopped, next(t, heard).Why)
}

// TestNothingIsKeptOfARefusedStream checks that nothing is left of a stream to a rank without actors if no PID of its
// actor existed any more when the refusal was handled.
func TestNothingIsKeptOfARefusedStream(t *testing.T) {
	s, dead, _ := unready(t, time.Hour)
	fill(t, s, dead)
	blocks, goOn := make(chan bool), make(chan bool)
	blocker, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if c.Message() == "block" {
			blocks <- true
			<-goOn
		}
	}, s.Inline()), "")
	require.NoError(t, err)
	s.Root.Send(blocker, "block")
	next(t, blocks)
	s.Root.Send(s.PID(1, "in"), 1)
	require.Eventually(t, func() bool {
		goruntime.GC()
		known, referenced := s.Line(1, "in")
		return known && !referenced
	}, soon, time.Millisecond)
	close(goOn)
	require.Eventually(t, func() bool {
		known, _ := s.Line(1, "in")
		return !known
	}, soon, time.Millisecond)
}

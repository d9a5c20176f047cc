package actors_test

import (
	"errors"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// TestUnreachableRank checks that a rank that no transport reaches counts as lost when a message is first sent to it.
// A watch of one of its actors must end, whether the watch is the first message or not. An actor of SpawnAmong must
// move to the next rank.
func TestUnreachableRank(t *testing.T) {
	f := transporttest.NewFake(4, transporttest.FakeOptions{NoHandover: true})
	s := fakeRank(t, f, 4, 0, engine.Config{Route: func(int) transport.Transport { return nil }})(0)
	dead := letters(s)
	w, heard := watcher(t, s, "watcher")
	for range 2 {
		ask(t, s, w, s.PID(1, "x"))
		m := next(t, heard)
		require.True(t, s.PID(1, "x").Equal(m.Who))
		require.Equal(t, actor.TerminatedReason_AddressTerminated, m.Why)
	}
	require.ErrorIs(t, s.Root.RequestFuture(s.PID(2, "x"), 1, soon).Wait(), actor.ErrDeadLetter)
	var lost *runtime.PeerError
	require.True(t, errors.As(next(t, dead).Reason, &lost))
	require.Equal(t, 2, lost.Rank)
	ask(t, s, w, s.PID(2, "x"))
	require.Equal(t, actor.TerminatedReason_AddressTerminated, next(t, heard).Why)

	pid, err := s.SpawnAmong(idle(), "roams", 3, 0)
	require.NoError(t, err)
	require.Error(t, s.Root.RequestFuture(pid, 1, soon).Wait())
	require.Eventually(t, func() bool { return s.Lives("roams") }, soon, soon/1000)
	ask(t, s, pid, 1)
}

// TestWatchThatCannotBeSent checks that a watch ends if the name of the actor is too long for a message.
func TestWatchThatCannotBeSent(t *testing.T) {
	_, all := fake(t, 2, transporttest.FakeOptions{}, nil)
	w, heard := watcher(t, all[0], "watcher")
	pid := all[0].PID(1, string(make([]byte, 1<<20)))
	ask(t, all[0], w, pid)
	require.True(t, pid.Equal(next(t, heard).Who))
}

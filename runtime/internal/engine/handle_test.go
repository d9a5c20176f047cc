package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// TestTakenHandleLeavesTheNextOperationAlone checks that a handle whose result was taken returns
// ErrTaken. It must not touch the operation that uses its record now.
func TestTakenHandleLeavesTheNextOperationAlone(t *testing.T) {
	e := newWorld(t, 1, transporttest.FakeOptions{}, nil).engines[0]
	self := engine.Match{Peer: 0, Tag: 1}
	send := func() { require.NoError(t, e.Send(none, self, 0, []byte{5}, engine.Standard)) }
	old := e.Irecv(self, 0, make([]byte, 1))
	require.False(t, old.Taken())
	send()
	require.True(t, old.Done())
	_, err := old.Wait(none)
	require.NoError(t, err)

	buf := make([]byte, 1)
	next := e.Irecv(self, 0, buf)
	require.True(t, old.Taken())
	require.True(t, old.Done())
	require.True(t, old.Look())
	old.Cancel()
	_, err = old.Wait(none)
	require.ErrorIs(t, err, engine.ErrTaken)
	_, ok, err := old.Test()
	require.True(t, ok)
	require.ErrorIs(t, err, engine.ErrTaken)
	i, _, err := e.WaitAny(none, 1, func(int) engine.Handle { return old })
	require.NoError(t, err)
	require.Equal(t, -1, i)

	require.False(t, next.Done())
	require.False(t, next.Taken())
	send()
	_, err = next.Wait(none)
	require.NoError(t, err)
	require.Equal(t, []byte{5}, buf)
}

// TestHandleOfARecordWhoseGenerationsAreUsedUp checks that a handle does not touch a later
// operation, however many operations have used its record since.
func TestHandleOfARecordWhoseGenerationsAreUsedUp(t *testing.T) {
	e := newWorld(t, 1, transporttest.FakeOptions{}, nil).engines[0]
	self := engine.Match{Peer: 0, Tag: 1}
	first := e.Irecv(self, 0, make([]byte, 1))
	last := first.Age()
	for i := range byte(4) {
		buf := make([]byte, 1)
		next := last
		if i > 0 {
			next = e.Irecv(self, 0, buf)
			require.True(t, last.Taken())
			last.Cancel()
		}
		require.True(t, first.Taken())
		first.Cancel()
		_, err := first.Wait(none)
		require.ErrorIs(t, err, engine.ErrTaken)
		require.False(t, next.Done())
		require.NoError(t, e.Send(none, self, 0, []byte{i}, engine.Standard))
		_, err = next.Wait(none)
		require.NoError(t, err)
		if i > 0 {
			require.Equal(t, []byte{i}, buf)
		}
	}
}

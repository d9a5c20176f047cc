package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// A report about a rank does not count as a call of the program. The calls tell how long the program has not called
// the engine, and a report must not change this time.
func TestReportsAreNoCalls(t *testing.T) {
	w := newWorldOf(t, 2, transporttest.FakeOptions{}, false, nil)
	a, b := w.engines[0], w.engines[1]
	require.NoError(t, a.Send(none, engine.Match{Peer: 1, Tag: 3}, 0, pattern(8, 1), engine.Standard))
	before := b.Calls()
	soonTrue(t, func() bool { return len(b.Unreceived()) == 1 })
	require.Empty(t, b.Blocked())
	asked := 0
	require.NoError(t, b.Query(func() { asked++ }))
	_, only := b.OnlyWaits()
	require.True(t, only)
	require.Equal(t, before, b.Calls())
	require.NoError(t, b.Close())
	require.ErrorIs(t, b.Query(func() { asked++ }), engine.ErrClosed)
	require.Equal(t, 1, asked)
}

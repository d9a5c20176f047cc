package stripe_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/stripe"
)

// TestRecordsOfEarlierConnections loses a side connection together with the main connection. The test checks
// that records of the owner about this side connection have no effect on the next side connection.
func TestRecordsOfEarlierConnections(t *testing.T) {
	var l stripe.Line
	require.True(t, l.Want())
	require.False(t, l.Want())
	require.True(t, l.Attach(1))
	l.Drop()
	require.False(t, l.Attach(2), "it is not wanted")
	require.True(t, l.Want())
	require.True(t, l.Attach(3))
	require.False(t, l.Is(1))
	require.True(t, l.Is(3))
	id, ok := l.Lost()
	require.True(t, ok)
	require.EqualValues(t, 3, id)
	_, again := l.Lost()
	require.False(t, again)
	require.False(t, l.Is(3))
	require.False(t, l.Closed(1))
	require.False(t, l.Want(), "its end at the owner may be open")
	require.True(t, l.Closed(3))
	require.True(t, l.Idle())
}

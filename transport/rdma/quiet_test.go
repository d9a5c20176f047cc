package rdma_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// TestQuiet checks that Quiet returns true while few frames of a connection are unacknowledged, false while more
// frames are unacknowledged, and true again after their acknowledgement. The test also checks that a message of
// 16 KiB fits into one receive (EagerAlone).
func TestQuiet(t *testing.T) {
	ranks := newWorld(t, memory(verbstest.StyleIWARP, 2), nil).ranks(t)
	e := ranks[0].to(1)
	require.NoError(t, drive(t, ranks, "send", func() error { return e.Send(transport.Header{B: 8}, numbered(0, 8)) }))
	caps, quieter := e.Caps(), e.(transport.Quieter)
	require.GreaterOrEqual(t, caps.EagerAlone, 16<<10)
	require.Less(t, caps.EagerBest, 16<<10)
	require.True(t, quieter.Quiet())
	sent := uint64(1)
	for ; quieter.Quiet(); sent++ {
		require.Less(t, sent, uint64(20))
		require.NoError(t, e.Send(transport.Header{A: sent, B: 16 << 10}, numbered(sent, 16<<10)))
	}
	token := ranks[0].token()
	k, err := ranks[1].Expose(make([]byte, 8), transport.AccessWrite)
	require.NoError(t, err)
	require.NoError(t, drive(t, ranks, "put", func() error { return e.Put(make([]byte, 8), k, token) }))
	pump(t, ranks, "the acknowledgement", func() bool {
		_, done := ranks[0].done[token]
		return done && quieter.Quiet()
	})
	require.Equal(t, sent, ranks[1].next[0])
	closeAll(t, ranks)
}

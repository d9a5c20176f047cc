package rdma_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
)

// TestPollCountsTransfers checks that the rank whose memory a Get reads has work in its polls, although no
// event of the Get concerns it. A rank whose polls find no work yields its processor.
func TestPollCountsTransfers(t *testing.T) {
	for name, companion := range map[string]bool{"alone": false, "beside shared memory": true} {
		t.Run(name, func(t *testing.T) { testPollCountsTransfers(t, companion) })
	}
}

func testPollCountsTransfers(t *testing.T, companion bool) {
	t.Helper()
	ranks := newWorld(t, loopback(iwarp.New(iwarp.Config{}), 2), func(c *rdma.Config) { c.Companion = companion }).ranks(t)
	reader, owner := ranks[0], ranks[1]
	dst, src := make([]byte, 8<<20), numbered(7, 8<<20)
	k, err := owner.Expose(src, transport.AccessRead)
	require.NoError(t, err)
	require.NoError(t, bulk(t, ranks, func(token uint64) error { return reader.to(1).Get(dst[:1], k, token) })) // connects
	for reader.poll()+owner.poll() > 0 {
	}
	token, work := reader.token(), 0
	require.NoError(t, reader.to(1).Get(dst, k, token))
	for ended := false; !ended; _, ended = reader.done[token] {
		work += owner.poll()
		reader.poll()
	}
	require.NoError(t, reader.done[token])
	require.Positive(t, work)
	require.Equal(t, src, dst)
	require.NoError(t, owner.Conceal(k))
	closeAll(t, ranks)
}

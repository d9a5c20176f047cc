package rdma_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// TestLogHoldsNobodyUp blocks the writer of the log while the rank logs a stranger. The test checks that the
// rank still connects and delivers messages.
func TestLogHoldsNobodyUp(t *testing.T) {
	reads := make(chan struct{})
	r, u := lone(t, 2, func(c *rdma.Config) { c.Log = func(string) { <-reads } })
	h := u.dial(r.Address(), []byte("not a record"))
	require.Equal(t, verbs.EventPeerRejected, h.answer(r).Type)
	c, n := credentials(1, 2), request(1)
	h = u.dial(r.Address(), c.AppendRequest(nil, &n, 0))
	require.Equal(t, verbs.EventEstablished, h.answer(r).Type)
	h.say(frame(word(0, 0, 8, 0), kindUpdate))
	h.say(frame(word(0, 0, 8, 0), kindEager, message(0, "\x00\x01\x02")...))
	u.settle(r, "a message", func() bool { return r.arrivals == 1 })
	close(reads)
	require.NoError(t, r.Close())
}

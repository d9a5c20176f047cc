package rdma_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// TestIdleConnectionsEnd checks that both ends close a connection that is not used, and that the next message
// makes another one. No message is lost, and neither rank reports the other as down.
func TestIdleConnectionsEnd(t *testing.T) {
	for name, places := range providers(func(p verbs.Provider) *scissors { return &scissors{Provider: p} }) {
		t.Run(name, func(t *testing.T) {
			ranks := newWorld(t, places(2), func(c *rdma.Config) { c.Idle = 2 * time.Millisecond }).ranks(t)
			for i := range uint64(4) {
				from, to := ranks[i%2], ranks[1-i%2]
				h := transport.Header{A: i / 2, B: 100}
				require.NoError(t, drive(t, ranks, "send", func() error { return from.to(to.number).Send(h, numbered(i/2, 100)) }))
				pump(t, ranks, "the message", func() bool { return to.next[from.number] == i/2+1 })
				pump(t, ranks, "the end of the connection", func() bool {
					return strings.HasSuffix(ranks[0].Explain(1), ", not connected now") && strings.HasSuffix(ranks[1].Explain(0), ", not connected now")
				})
			}
			require.Contains(t, ranks[0].Explain(1), "connected 4 times")
			require.Empty(t, append(ranks[0].downs, ranks[1].downs...))
			closeAll(t, ranks)
		})
	}
}

// TestIdleOwnerOfMemory writes to the memory of a rank that gets no messages. The test checks that this rank
// does not end the connection as idle while Puts use it, and that no Put fails.
func TestIdleOwnerOfMemory(t *testing.T) {
	for name, places := range providers(func(p verbs.Provider) *scissors { return &scissors{Provider: p} }) {
		t.Run(name, func(t *testing.T) {
			ranks := newWorld(t, places(2), func(c *rdma.Config) { c.Idle = time.Millisecond }).ranks(t)
			const length = 16 << 20
			target, source := make([]byte, length), numbered(1, length)
			key, err := ranks[1].Expose(target, transport.AccessWrite)
			require.NoError(t, err)
			for range 10 {
				token := ranks[0].token()
				require.NoError(t, drive(t, ranks, "put", func() error { return ranks[0].to(1).Put(source, key, token) }))
				pump(t, ranks, "the put", func() bool { _, ok := ranks[0].done[token]; return ok })
				require.NoError(t, ranks[0].done[token])
				require.Equal(t, source, target)
				clear(target)
			}
			require.NoError(t, ranks[1].Conceal(key))
			closeAll(t, ranks)
		})
	}
}

package rdma_test

import (
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
)

// onFirst reports whether rank 0 has a connection with rank 1 on its first rail.
func onFirst(r *rank) bool {
	says := r.Explain(1)
	return !strings.Contains(says, "; not 10.0.0.1: ") && !strings.Contains(says, "not connected")
}

// absence makes Lookup return an unreachable address for the first rail of every rank while it is set.
type absence struct{ atomic.Bool }

func (a *absence) hide(c *rdma.Config) {
	lookup := c.Lookup
	c.Lookup = func(rank int) ([]rdma.Location, error) {
		list, err := lookup(rank)
		if err == nil && a.Load() {
			list[0].Address = netip.MustParseAddrPort("10.7.7.7:7")
		}
		return list, err
	}
}

// TestPairComesBack cuts the connection of two ranks on the adapter, without an event of the adapter. The ranks
// change to TCP and then return to the adapter, while both send messages and have Gets and Puts in progress. A
// Put whose connection is lost fails; the test checks that no Put and no Get fails during the return, and that
// the messages arrive in order.
func TestPairComesBack(t *testing.T) {
	r, cut := fragileRails(2)
	var gone absence
	ranks := newWorld(t, r.first, func(c *rdma.Config) {
		prompt(c)
		r.config(c)
		gone.hide(c)
		c.Recovery = time.Millisecond
	}).ranks(t)
	const length = 1 << 20
	targets, keys := [2][]byte{}, [2]transport.Key{}
	for i, k := range ranks {
		var err error
		targets[i] = make([]byte, length)
		keys[i], err = k.Expose(targets[i], transport.AccessRead|transport.AccessWrite)
		require.NoError(t, err)
	}
	stream(t, ranks, 0, 1, 300, 100, func() {
		gone.Store(true)
		cut[0].cutAll()
	})
	require.False(t, onFirst(ranks[0]))
	source, dst := numbered(7, length), [2][]byte{make([]byte, length), make([]byte, length)}
	sent, under := [2]uint64{ranks[1].next[0], 0}, [2][2]uint64{}
	pump(t, ranks, "the adapter is used again", func() bool {
		for i, k := range ranks {
			e := k.to(1 - i)
			for at, begin := range []func(token uint64) error{
				func(token uint64) error { return e.Put(source, keys[1-i], token) },
				func(token uint64) error { return e.Get(dst[i], keys[1-i], token) },
			} {
				err, ended := k.done[under[i][at]]
				require.NoError(t, err)
				if ended || under[i][at] == 0 {
					if token := k.token(); begin(token) == nil {
						under[i][at] = token
					}
				}
			}
			if h := (transport.Header{A: sent[i], B: 40}); e.Send(h, numbered(sent[i], 40)) == nil {
				sent[i]++
			}
		}
		if all := slices.Concat(under[0][:], under[1][:]); !slices.Contains(all, 0) {
			gone.Store(false)
		}
		return onFirst(ranks[0])
	})
	pump(t, ranks, "the rest", func() bool {
		ended := ranks[0].next[1] == sent[1] && ranks[1].next[0] == sent[0]
		for i, k := range ranks {
			for _, token := range under[i] {
				err, ok := k.done[token]
				require.NoError(t, err)
				ended = ended && ok
			}
		}
		return ended
	})
	require.Equal(t, source, targets[0])
	require.NotContains(t, ranks[0].Explain(1), "; not")
	require.Empty(t, slices.Concat(ranks[0].downs, ranks[1].downs))
	closeAll(t, ranks)
}

// TestLookInVain makes the adapter of the peer unreachable. The test checks that the ranks go on exchanging
// messages over TCP and that Explain reports the failed attempt on the adapter. When the adapter is reachable
// again, the ranks return to it although no messages are sent.
func TestLookInVain(t *testing.T) {
	r, cut := fragileRails(2)
	var gone absence
	ranks := newWorld(t, r.first, func(c *rdma.Config) {
		prompt(c)
		r.config(c)
		gone.hide(c)
		c.Recovery = time.Millisecond
	}).ranks(t)
	stream(t, ranks, 0, 1, 300, 100, func() {
		gone.Store(true)
		cut[0].cutAll()
	})
	pump(t, ranks, "a look", func() bool {
		return strings.Contains(ranks[0].Explain(1), "; not 10.0.0.1: a connection test failed: ")
	})
	stream(t, ranks, 1, 0, 10, 0, func() {})
	require.False(t, onFirst(ranks[0]))
	gone.Store(false)
	pump(t, ranks, "the adapter is used again", func() bool { return onFirst(ranks[0]) })
	stream(t, ranks, 0, 1, 10, 0, func() {})
	closeAll(t, ranks)
}

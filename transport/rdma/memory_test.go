package rdma_test

import (
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// TestMemoryOfAThousandConnections: one rank that a thousand others speak to keeps
// to 64 MiB of receives and 16 KiB for each connection beyond, over TCP. The other ends
// are in the same process; they are made for few requests and take less.
func TestMemoryOfAThousandConnections(t *testing.T) {
	const peers, budget, each, other = 1000, 64 << 20, 16 << 10, 4 << 10
	var files unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &files))
	if files.Cur < 2*peers+100 {
		t.Skipf("%d files may be open: %v", files.Cur, transport.ErrNotSupported)
	}
	p := iwarp.New(iwarp.Config{})
	w := newWorld(t, loopback(p, 1), func(c *rdma.Config) { c.Size = peers + 1 })
	r := w.ranks(t)[0]
	r.next = make([]uint64, peers+1)
	r.check = func(int, transport.Header, []byte) {}
	u := newPuppet(t, loopback(p, 1)[0], peers)
	before := heap()

	hands := make([]*hand, peers)
	for i := range hands {
		c, n := credentials(i+1, peers+1), request(1)
		hands[i] = u.dial(r.Address(), c.AppendRequest(nil, &n, 0))
		require.Equal(t, verbs.EventEstablished, hands[i].answer(r).Type)
		hands[i].say(frame(word(0, 0, 8, 0), kindUpdate))
		hands[i].say(frame(word(0, 0, 8, 0), kindEager, message(0, "x")...))
	}
	u.settle(r, "a message of each", func() bool { return r.arrivals == peers })
	taken := heap() - before
	t.Logf("%d KiB in all, of them at most %d KiB receives: %d bytes beyond per connection, both ends", taken>>10, budget>>10, (taken-budget)/peers)
	require.LessOrEqual(t, taken, budget+peers*(each+other))

	// Everybody can still be answered.
	for i := range hands {
		require.NoError(t, r.to(i+1).Send(transport.Header{}, []byte("answer")))
	}
	u.settle(r, "an answer to each", func() bool {
		for _, h := range hands {
			if h.heard < 2 { // an update and the answer
				return false
			}
		}
		return true
	})
	require.NoError(t, r.Close())
	goruntime.KeepAlive(w)
}

// heap is the memory in use, in bytes.
func heap() int {
	var m goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

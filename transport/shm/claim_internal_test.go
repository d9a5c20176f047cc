package shm

import (
	"encoding/binary"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport"
)

// counter is a Handler that counts.
type counter struct{ arrivals, downs int }

func (c *counter) Arrive(int, transport.Header, []byte) { c.arrivals++ }

func (c *counter) Completed(int, uint64, uint64, error) {}

func (c *counter) Down(*transport.PeerDown) { c.downs++ }

// A rank that is marked down but lives may be stopped after it has claimed slots of the inbox and before it has
// written the record. The reader of the inbox does not skip the claim until the record is written or the rank is
// reaped, so that the rank cannot write over the record of another rank.
func TestClaimOfARankThatLives(t *testing.T) {
	const bytes = 64 << 20
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC)
	require.NoError(t, err)
	require.NoError(t, unix.Ftruncate(fd, 3*bytes))
	node, err := OpenNode(fd, 3, bytes)
	require.NoError(t, err)
	ts := make([]*Transport, 3)
	for i := range ts {
		ts[i], err = New(node, Config{Rank: i, LocalRank: i})
		require.NoError(t, err)
	}
	// For rank 0, rank 1 is another process, which lives.
	cookie := ts[1].cookie[0]
	ts[0].reader = func(_ int, b []byte, _ uint64) (int, error) {
		binary.NativeEndian.PutUint64(b, cookie)
		return len(b), nil
	}
	atomic.StoreUint64(ts[1].control.word(offPID), 1)
	w := &ts[1].endpoint(0).inbox
	tail := atomic.LoadUint64(w.tail)
	pos, v := w.claim(tail, slotWord(slotClaimed, 1, w.rank, tail))
	require.Equal(t, written, v)
	c := &counter{}
	poll := func() {
		_, err := ts[0].Poll(c, 16)
		require.NoError(t, err)
	}
	ts[0].MarkDown(1, transport.ErrDamaged)
	for range 4 {
		poll()
	}
	require.Equal(t, 1, c.downs)
	e := ts[2].endpoint(0)
	for range inboxSlots { // until the inbox is full
		if e.inbox.put(kindMessage, transport.Header{}, nil) != written {
			break
		}
		poll()
	}
	require.Zero(t, c.arrivals)
	w.fill(pos, kindMessage, transport.Header{A: 1}, nil, 1) // rank 1 goes on
	for range inboxSlots {
		poll()
	}
	require.Equal(t, inboxSlots-1, c.arrivals, "the messages of rank 2")
	for _, tr := range ts {
		require.NoError(t, tr.Close())
	}
}

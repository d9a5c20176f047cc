package shm

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// counter is a Handler that counts.
type counter struct{ arrivals, downs int }

func (c *counter) Arrive(int, transport.Header, []byte) { c.arrivals++ }

func (c *counter) Completed(int, uint64, uint64, error) {}

func (c *counter) Down(*transport.PeerDown) { c.downs++ }

// A rank that was given up may be stopped after it has claimed slots of the inbox and before it has
// written the record. The reader of the inbox does not skip the claim until the record is written or the rank is
// reaped, so that the rank cannot write over the record of another rank.
func TestClaimOfARankThatLives(t *testing.T) {
	node, err := NewLocalNode(3)
	require.NoError(t, err)
	ts := make([]*Transport, 3)
	for i := range ts {
		ts[i], err = New(node, Config{Rank: i, LocalRank: i})
		require.NoError(t, err)
	}
	w := &ts[1].endpoint(0).inbox
	tail := atomic.LoadUint64(w.tail)
	require.Equal(t, written, w.claim(tail, slotWord(slotClaimed, 1, w.rank, tail)))
	c := &counter{}
	poll := func() {
		_, err := ts[0].Poll(c, 16)
		require.NoError(t, err)
	}
	ts[0].GiveUp(1, transport.ErrDamaged)
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
	w.fill(tail, kindMessage, transport.Header{A: 1}, nil, 1) // rank 1 goes on
	for range inboxSlots {
		poll()
	}
	require.Equal(t, inboxSlots-1, c.arrivals, "the messages of rank 2")
	for _, tr := range ts {
		require.NoError(t, tr.Close())
	}
}

package shm_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// damageRing overwrites the ring from one rank to rank 0 with words that no correct peer writes.
func damageRing(tb testing.TB, ts []*shm.Transport, from int) {
	tb.Helper()
	ring := shm.Ring(ts[0], shm.Lane(ts[from], 0))
	for off := 0; off < len(ring); off += 64 {
		binary.NativeEndian.PutUint64(ring[off:], 1<<63|0x7f<<56)
	}
}

// A peer that is given up keeps its ring, because it may still write to the ring. When the peer is reaped, the ring is
// cleared and free, whether the loss was reported before or not.
func TestGivenUpKeepsItsRing(t *testing.T) {
	for _, reported := range []bool{true, false} {
		ts := local(t, 2, false)
		intoRing(t, ts[1], ts[0], 1, 0)
		const rank1 = 2
		l := &log{}
		ts[0].GiveUp(1, errors.New("violates the protocol"))
		if reported {
			poll(t, ts[0], l, 2)
			require.Len(t, l.downs, 1)
			require.EqualValues(t, rank1, shm.RingOwner(ts[0], 0))
			require.NoError(t, endpointTo(t, ts[1], 0).Send(transport.Header{}, nil))
		}
		ts[0].MarkDown(1, unix.ESRCH)
		poll(t, ts[0], l, 1)
		require.Zero(t, shm.RingOwner(ts[0], 0))
		require.Len(t, l.downs, 1)
		ring := shm.Ring(ts[0], 0)
		for off := 0; off < len(ring); off += 64 {
			require.Zero(t, binary.NativeEndian.Uint64(ring[off:]))
		}
	}
}

// Staging buffers to which a lost peer may still write, because it has taken their tickets, are not reused until the
// peer is reaped.
func TestBuffersOfTheReaped(t *testing.T) {
	const n = 1 << 20
	ts := local(t, 4, true)
	l := &log{}
	for from := 1; from <= 2; from++ { // each Get takes half of the staging buffers
		intoRing(t, ts[from], ts[0], from, 0)
		k, err := ts[from].Expose(make([]byte, n), transport.AccessRead)
		require.NoError(t, err)
		require.NoError(t, endpointTo(t, ts[0], from).Get(make([]byte, n), k, 1))
		poll(t, ts[0], l, 1)
		shm.TakeTickets(ts[0])
		damageRing(t, ts, from)
		poll(t, ts[0], l, 3)
		require.Len(t, l.downs, from)
		require.ErrorIs(t, l.done[from-1].err, transport.ErrDamaged)
	}
	source := pattern(n, 5)
	k, err := ts[3].Expose(source, transport.AccessRead)
	require.NoError(t, err)
	dst := make([]byte, n)
	require.NoError(t, endpointTo(t, ts[0], 3).Get(dst, k, 1))
	both := func() {
		for range 100 {
			poll(t, ts[0], l, 1)
			poll(t, ts[3], &log{}, 1)
		}
	}
	both()
	require.Len(t, l.done, 2, "there is no buffer")
	ts[0].MarkDown(1, unix.ESRCH)
	both()
	require.Len(t, l.downs, 2)
	require.Len(t, l.done, 3)
	require.NoError(t, l.done[2].err)
	require.True(t, bytes.Equal(source, dst))
}

// The request to return a ring is cleared by the owner of the ring. If the writer cleared the
// request, it could do so too late, and clear a request to the next writer.
func TestWishIsTakenBackByTheOwner(t *testing.T) {
	ts := local(t, 2, false)
	intoRing(t, ts[1], ts[0], 1, 0)
	ring := shm.Lane(ts[1], 0)
	shm.AskBack(ts[0], ring)
	require.NoError(t, endpointTo(t, ts[1], 0).Send(transport.Header{}, nil))
	require.Equal(t, -1, shm.Lane(ts[1], 0))
	require.True(t, shm.AskedBack(ts[0], ring))
	poll(t, ts[0], &log{}, 1)
	require.False(t, shm.AskedBack(ts[0], ring))
	require.Zero(t, shm.RingOwner(ts[0], ring))
}

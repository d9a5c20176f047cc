package shm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// aloneGet makes a Get of n bytes from rank 1 while rank 1 does not poll, and returns the error of the Get.
func aloneGet(t *testing.T, ts []*shm.Transport, n int, k transport.Key) error {
	t.Helper()
	l := &log{}
	require.NoError(t, endpointTo(t, ts[0], 1).Get(make([]byte, n), k, 1))
	for len(l.done) == 0 {
		poll(t, ts[0], l, 1)
	}
	return l.done[0].err
}

// eachWay calls f for each way of a Get. The Gets of rank 0 copy in that way, and k is the key of n bytes of rank 1.
func eachWay(t *testing.T, n int, f func(ts []*shm.Transport, k transport.Key, way int)) {
	t.Helper()
	needsAlone(t)
	for way := range shm.Ways {
		ts := pair(t)
		shm.ForceWay(ts[0], way)
		k, err := ts[1].Expose(make([]byte, n), transport.AccessRead)
		require.NoError(t, err)
		f(ts, k, way)
	}
}

// A Get of memory that is not exposed fails with ErrBadKey in each way, even if the owner does not poll.
func TestAGetAloneNeedsExposedMemory(t *testing.T) {
	const n = 1 << 20
	eachWay(t, n, func(ts []*shm.Transport, k transport.Key, way int) {
		require.NoError(t, aloneGet(t, ts, n, k), "way %d", way)
		require.NoError(t, ts[1].Conceal(k))
		require.ErrorIs(t, aloneGet(t, ts, n, k), transport.ErrBadKey, "way %d", way)
	})
}

// A Get whose memory is concealed before the last direct copy fails with ErrBadKey, because the bytes may have changed.
func TestAGetAloneNeedsExposedMemoryToItsEnd(t *testing.T) {
	const n = 4 << 20
	eachWay(t, n, func(ts []*shm.Transport, k transport.Key, way int) {
		var read *int
		concealed := false
		read = shm.CountDirect(ts[0], func() {
			if *read >= n/2 && !concealed {
				concealed = true
				require.NoError(t, ts[1].Conceal(k))
			}
		})
		require.ErrorIs(t, aloneGet(t, ts, n, k), transport.ErrBadKey, "way %d", way)
		require.True(t, concealed)
	})
}

// A Get of an address without memory ends even if the owner does not poll: the reader takes its requests back.
func TestAFailedGetEndsWithoutTheOwner(t *testing.T) {
	const n = 1 << 20
	eachWay(t, n, func(ts []*shm.Transport, k transport.Key, way int) {
		k.Addr = 1 << 20
		require.ErrorIs(t, aloneGet(t, ts, n, k), transport.ErrBadKey, "way %d", way)
	})
}

// If the owner of the memory of a Get is stopped in the middle of its copy, Gets from other ranks end. A rank that
// waits only for the answers of the stopped owner can arm, and goes on when the owner has answered.
func TestAStoppedOwnerDelaysOnlyItsOwnGet(t *testing.T) {
	needsAlone(t)
	const n = 1 << 20
	for _, way := range []int{shm.WayShared, shm.WayPiped} {
		ts, node := mapped(t, 3, shm.Config{})
		shm.ForceWay(ts[0], way)
		var keys [3]transport.Key
		for i := 1; i <= 2; i++ {
			var err error
			keys[i], err = ts[i].Expose(make([]byte, n), transport.AccessRead)
			require.NoError(t, err)
		}
		l := &log{}
		require.NoError(t, endpointTo(t, ts[0], 1).Get(make([]byte, n), keys[1], 1))
		shm.CountDirect(ts[0], func() { shm.TakeChunk(ts[0]) })
		poll(t, ts[0], l, 1)
		shm.TakeTickets(ts[0])
		require.NoError(t, endpointTo(t, ts[0], 2).Get(make([]byte, 4096), keys[2], 2))
		for len(l.done) == 0 {
			poll(t, ts[0], l, 1)
		}
		require.EqualValues(t, 2, l.done[0].token, "way %d", way)
		if way == shm.WayPiped {
			require.True(t, ts[0].Arm())
			shm.AnswerTickets(ts[0])
			ts[0].Disarm()
			require.False(t, ts[0].Arm(), "there are answers")
		}
		shm.GiveChunks(ts[0])
		for len(l.done) < 2 {
			poll(t, ts[0], l, 1)
		}
		require.NoError(t, l.done[1].err)
		for _, tr := range ts {
			require.NoError(t, tr.Close())
		}
		require.NoError(t, node.Close())
	}
}

package shm_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// get reads memory of rank 1 by a Get of rank 0, and polls both ranks until the Get is complete.
func get(tb testing.TB, ts []*shm.Transport, dst []byte, k transport.Key) error {
	tb.Helper()
	l := &log{}
	if err := endpointTo(tb, ts[0], 1).Get(dst, k, 1); err != nil {
		return err
	}
	for len(l.done) == 0 {
		for _, tr := range ts {
			poll(tb, tr, l, 1)
		}
	}
	return l.done[0].err
}

// pair makes two ranks of this process on mapped node memory.
func pair(tb testing.TB) []*shm.Transport {
	tb.Helper()
	ts, node := mapped(tb, 2, shm.Config{})
	tb.Cleanup(func() {
		require.NoError(tb, ts[0].Close())
		require.NoError(tb, ts[1].Close())
		require.NoError(tb, node.Close())
	})
	return ts
}

// If the system refuses a direct copy (process_vm_readv), at the probe or later, the same Get falls
// back to staging buffers and succeeds.
func TestRefusalFallsBack(t *testing.T) {
	for _, errno := range []error{unix.EPERM, unix.ESRCH, unix.ENOSYS, unix.EACCES} {
		for _, after := range []int{0, 1, 2, 3} {
			for i, n := range []int{5000, 1<<20 - 1, 1<<20 - 1, 1<<20 - 1, 3<<20 + 77, 3<<20 + 77, 3<<20 + 77} {
				ts := pair(t)
				shm.ForceWay(ts[0], i%shm.Ways)
				shm.RefuseDirectAfter(ts[0], after, errno)
				source := pattern(n, 3)
				k, err := ts[1].Expose(source, transport.AccessRead)
				require.NoError(t, err)
				for range 2 {
					dst := make([]byte, n)
					require.NoError(t, get(t, ts, dst, k))
					require.True(t, bytes.Equal(source, dst), "%v after %d copies of %d bytes", errno, after, n)
				}
			}
		}
	}
}

// The owner of the memory copies a part of a long Get when it polls.
func TestOwnerHelps(t *testing.T) {
	ts := pair(t)
	shm.ForceWay(ts[0], shm.WayShared)
	const n = 4<<20 + 4711
	source := pattern(n, 5)
	k, err := ts[1].Expose(source, transport.AccessRead)
	require.NoError(t, err)
	read := shm.CountDirect(ts[0], func() { poll(t, ts[1], &log{}, 1) })
	dst := make([]byte, n)
	require.NoError(t, get(t, ts, dst, k))
	require.True(t, bytes.Equal(source, dst))
	require.Less(t, *read, n)
}

// If the owner conceals the target of a long Put between two Polls of the writer, the Put fails and writes no further
// bytes.
func TestConcealEndsPut(t *testing.T) {
	ts := pair(t)
	needsAlone(t)
	target := make([]byte, 4*shm.PollBytes)
	k, err := ts[1].Expose(target, transport.AccessWrite)
	require.NoError(t, err)
	require.NoError(t, endpointTo(t, ts[0], 1).Put(bytes.Repeat([]byte{7}, len(target)), k, 1))
	l := &log{}
	poll(t, ts[0], l, 1)
	require.Empty(t, l.done)
	require.Equal(t, byte(7), target[0], "the Put has begun")
	require.NoError(t, ts[1].Conceal(k))
	clear(target)
	for len(l.done) == 0 {
		poll(t, ts[0], l, 1)
	}
	require.ErrorIs(t, l.done[0].err, transport.ErrBadKey)
	require.Equal(t, make([]byte, len(target)), target)
}

// If the owner exposes more slices than its listing holds, the other ranks cannot check the last keys, and the owner
// makes the copies. A Put whose memory is concealed in between writes no further bytes, and a later Get fails.
func TestConcealBeyondTheListing(t *testing.T) {
	ts := pair(t)
	for range shm.ListingSlots {
		_, err := ts[1].Expose(make([]byte, 8), transport.AccessRead)
		require.NoError(t, err)
	}
	target, source := make([]byte, 4*shm.PollBytes), bytes.Repeat([]byte{7}, 4*shm.PollBytes)
	k, err := ts[1].Expose(target, transport.AccessWrite|transport.AccessRead)
	require.NoError(t, err)
	require.NoError(t, get(t, ts, source[:1000], k))
	require.Equal(t, target[:1000], source[:1000])

	l := &log{}
	require.NoError(t, endpointTo(t, ts[0], 1).Put(source, k, 1))
	for len(l.done) == 0 && target[1000] == 0 {
		poll(t, ts[0], l, 1)
		poll(t, ts[1], l, 1)
	}
	require.Empty(t, l.done, "the Put has only begun")
	require.NoError(t, ts[1].Conceal(k))
	clear(target)
	for len(l.done) == 0 {
		poll(t, ts[0], l, 1)
		poll(t, ts[1], l, 1)
	}
	require.ErrorIs(t, l.done[0].err, transport.ErrBadKey)
	require.Equal(t, make([]byte, len(target)), target)
	require.ErrorIs(t, get(t, ts, source, k), transport.ErrBadKey)
}

// If the system refuses the owner's direct copy, the reader copies that chunk itself.
func TestHelpFails(t *testing.T) {
	for after := range 4 {
		ts := pair(t)
		shm.ForceWay(ts[0], shm.WayShared)
		const n = 4<<20 + 4711
		source := pattern(n, 5)
		k, err := ts[1].Expose(source, transport.AccessRead)
		require.NoError(t, err)
		shm.RefuseDirectAfter(ts[1], after, unix.EPERM)
		shm.CountDirect(ts[0], func() { poll(t, ts[1], &log{}, 1) })
		for range 2 {
			dst := make([]byte, n)
			require.NoError(t, get(t, ts, dst, k))
			require.True(t, bytes.Equal(source, dst), "refused after %d", after)
		}
	}
}

// Short messages in a ring, and Get, Expose and Conceal allocate no heap memory.
func TestNoAllocations(t *testing.T) {
	ts := pair(t)
	e, c, payload := endpointTo(t, ts[0], 1), &counter{}, make([]byte, 100)
	send := func() {
		if e.Send(transport.Header{}, payload) == nil {
			_, _ = ts[1].Poll(c, 16)
		}
	}
	for range 100 {
		send()
	}
	require.Zero(t, testing.AllocsPerRun(1000, send))
	k, err := ts[1].Expose(payload, transport.AccessRead)
	require.NoError(t, err)
	dst := make([]byte, len(payload))
	get := func() {
		_ = e.Get(dst, k, 1)
		_, _ = ts[0].Poll(c, 16)
	}
	get()
	require.Zero(t, testing.AllocsPerRun(1000, get))
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		k, _ := ts[0].Expose(payload, transport.AccessRead)
		_ = ts[0].Conceal(k)
	}))
}

// The reader completes a piped Get (doc.go, section Bulk) alone if the owner does not poll, or stops
// polling.
func TestPipedAlone(t *testing.T) {
	for polls := range 12 {
		ts := pair(t)
		needsAlone(t)
		shm.ForceWay(ts[0], shm.WayPiped)
		const n = 3<<20 + 4711
		source := pattern(n, 5)
		k, err := ts[1].Expose(source, transport.AccessRead)
		require.NoError(t, err)
		for range 3 {
			dst, l := make([]byte, n), &log{}
			require.NoError(t, endpointTo(t, ts[0], 1).Get(dst, k, 1))
			for i := 0; len(l.done) == 0; i++ {
				if i < polls {
					poll(t, ts[1], l, 1)
				}
				poll(t, ts[0], l, 1)
			}
			require.NoError(t, l.done[0].err)
			require.True(t, bytes.Equal(source, dst), "%d polls", polls)
		}
	}
}

// After an owner has polled late, when many requests were withdrawn, it reports no rank as lost, and another Get
// reads the right bytes.
func TestLateOwner(t *testing.T) {
	for w := range shm.Ways {
		ts := pair(t)
		needsAlone(t)
		shm.ForceWay(ts[0], w)
		const n = 1<<20 + 4711
		source := pattern(n, 5)
		k, err := ts[1].Expose(source, transport.AccessRead)
		require.NoError(t, err)
		l := &log{}
		for range 200 {
			require.NoError(t, endpointTo(t, ts[0], 1).Get(make([]byte, n), k, 1))
			for len(l.done) == 0 {
				poll(t, ts[0], l, 1)
			}
			require.NoError(t, l.done[0].err)
			l.done = l.done[:0]
		}
		poll(t, ts[1], l, 1000)
		require.Empty(t, l.downs)
		dst := make([]byte, n)
		require.NoError(t, get(t, ts, dst, k))
		require.True(t, bytes.Equal(source, dst))
	}
}

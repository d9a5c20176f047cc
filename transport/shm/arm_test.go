package shm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// Arm refuses while a Get through staging buffers needs a Poll. In the test, two Gets of rank 0 use all buffers.
// Therefore a third Get cannot request a piece. The Poll in which the first two Gets end copies as many bytes as a
// Poll may copy. Therefore the third Get still requests nothing. No peer would ring rank 0 for it.
func TestArmRefusesWhileAGetCanRequest(t *testing.T) {
	for name, refused := range map[string]bool{"a lane that was never full": false, "a lane that was full before": true} {
		t.Run(name, func(t *testing.T) {
			ts := local(t, 3, true)
			if refused {
				refuseOnce(t, ts[0], ts[1])
			}
			armBesideGets(t, ts)
		})
	}
}

// refuseOnce sends messages until the lane, a ring, refuses one. When the peer has received the others, refuseOnce
// sends the refused message again, and the peer receives it. With these numbers and lengths of messages, the peer does
// not free the space of the last message, nor that of a few requests after it, because it frees a quarter of the ring
// at once.
func refuseOnce(t *testing.T, from, to *shm.Transport) {
	t.Helper()
	lane, payload := endpointTo(t, from, 1), make([]byte, 1000)
	receive := func() {
		l := &log{}
		for n := -1; n != len(l.arrivals); poll(t, to, l, 1) {
			n = len(l.arrivals)
		}
	}
	for range 2 * shm.RingAfter {
		require.NoError(t, lane.Send(transport.Header{}, nil))
	}
	receive()
	require.GreaterOrEqual(t, shm.Lane(from, 1), 0)
	err := error(nil)
	for err == nil {
		err = lane.Send(transport.Header{}, payload)
	}
	require.ErrorIs(t, err, transport.ErrAgain)
	receive()
	require.NoError(t, lane.Send(transport.Header{}, payload))
	receive()
}

func armBesideGets(t *testing.T, ts []*shm.Transport) {
	t.Helper()
	const n = shm.PollBytes / 2
	var ls [3]log
	once := func(i int) { poll(t, ts[i], &ls[i], 1) }
	theirs, err := ts[1].Expose(pattern(n, 1), transport.AccessRead)
	require.NoError(t, err)
	own, err := ts[0].Expose(pattern(n, 2), transport.AccessRead)
	require.NoError(t, err)
	for i := range uint64(3) {
		require.NoError(t, endpointTo(t, ts[0], 1).Get(make([]byte, n), theirs, i))
	}
	for i := range uint64(2) {
		require.NoError(t, endpointTo(t, ts[2], 0).Get(make([]byte, n), own, i))
	}
	once(2) // requests the first half of its Gets
	once(0) // answers rank 2, and requests the first half of its first two Gets
	once(1)
	once(0) // requests the second half
	once(1)
	once(2) // requests the second half
	once(0) // answers rank 2, and ends the first two Gets
	require.Len(t, ls[0].done, 2)
	require.False(t, ts[0].Arm())
	for len(ls[0].done) < 3 {
		once(0)
		once(1)
	}
	require.NoError(t, ls[0].done[2].err)
}

// Arm refuses if a peer that was given up, and that may live, has answered a request between the last Poll and the
// barrier of Arm. The staging buffer of the request is free from then on, and another Get may wait for a buffer.
func TestArmFindsTheAnswerOfTheLost(t *testing.T) {
	const n = 1 << 20
	ts, node := mapped(t, 3, shm.Config{DisableCMA: true})
	t.Cleanup(func() {
		for _, tr := range ts {
			require.NoError(t, tr.Close())
		}
		require.NoError(t, node.Close())
	})
	if !shm.WithoutFences(ts...) {
		t.Skip("membarrier: not supported")
	}
	l := &log{}
	for from := 1; from <= 2; from++ {
		k, err := ts[from].Expose(make([]byte, n), transport.AccessRead)
		require.NoError(t, err)
		for range 2 * from { // the Gets from rank 1 take all staging buffers
			require.NoError(t, endpointTo(t, ts[0], from).Get(make([]byte, n), k, uint64(from)))
		}
	}
	poll(t, ts[0], l, 1)
	shm.TakeTickets(ts[0])
	require.NoError(t, shm.Note(ts[1], 0, shm.NoteServe, transport.Header{A: 1<<16 - 1})) // no peer sends this
	poll(t, ts[0], l, 3)
	require.Len(t, l.downs, 1)
	shm.HookBarrier(ts[0], func() { require.True(t, shm.Armed(ts[0])) })
	require.True(t, ts[0].Arm(), "the Gets from rank 2 wait for a buffer")
	ts[0].Disarm()
	shm.HookBarrier(ts[0], func() { shm.AnswerTickets(ts[0]) })
	require.False(t, ts[0].Arm())
	for len(l.done) < 6 {
		poll(t, ts[0], l, 1)
		poll(t, ts[2], &log{}, 1)
	}
	for _, d := range l.done[2:] {
		require.NoError(t, d.err)
	}
}

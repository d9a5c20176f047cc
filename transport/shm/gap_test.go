package shm_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// Messages of a rank that violates the protocol are discarded. If the rank is reaped before its loss is reported,
// its later messages are discarded, too: no message arrives without those that were sent before it.
func TestDiscardedMessagesLeaveNoGap(t *testing.T) {
	ts := pair(t)
	needsAlone(t)
	shm.ForceWay(ts[0], shm.WayShared)
	k, err := ts[1].Expose(pattern(1<<20, 1), transport.AccessRead)
	require.NoError(t, err)
	require.NoError(t, endpointTo(t, ts[0], 1).Get(make([]byte, 1<<20), k, 1))
	shm.CountDirect(ts[0], func() { shm.TakeChunk(ts[0]) }) // the loss is not reported while rank 1 copies
	l := &log{}
	poll(t, ts[0], l, 4)
	require.NoError(t, shm.Note(ts[1], 0, shm.NoteLane, transport.Header{A: shm.RingsPerRank}))
	require.NoError(t, endpointTo(t, ts[1], 0).Send(transport.Header{A: 1}, nil))
	poll(t, ts[0], l, 4)
	require.Empty(t, l.downs)
	require.NoError(t, endpointTo(t, ts[1], 0).Send(transport.Header{A: 2}, nil))
	ts[0].MarkDown(1, unix.ESRCH)
	poll(t, ts[0], l, 1)
	require.Len(t, l.downs, 1)
	require.Empty(t, l.arrivals)
}

// mourner is a Handler that calls its function then at each arrival.
type mourner struct {
	log
	then func()
}

func (m *mourner) Arrive(peer int, header transport.Header, payload []byte) {
	m.log.Arrive(peer, header, payload)
	m.then()
}

// A rank has violated the protocol and has died. Its messages before the violation arrive, and those after it do not,
// whether its loss or the violation becomes known first.
func TestViolationOfTheDead(t *testing.T) {
	for _, known := range []bool{true, false} {
		ts := local(t, 2, false)
		e := endpointTo(t, ts[1], 0)
		require.NoError(t, e.Send(transport.Header{A: 1}, nil))
		require.NoError(t, shm.Note(ts[1], 0, shm.NoteLane, transport.Header{A: shm.RingsPerRank}))
		require.NoError(t, e.Send(transport.Header{A: 2}, nil))
		m := &mourner{then: func() { ts[0].MarkDown(1, unix.ESRCH) }}
		if known {
			m.then()
		}
		_, err := ts[0].Poll(m, 2) // finds the violation
		require.NoError(t, err)
		poll(t, ts[0], m, 2)
		require.Equal(t, []arrival{{1, transport.Header{A: 1}, nil}}, m.arrivals)
		require.Len(t, m.downs, 1)
	}
}

// One Poll finds a damaged record at the end of a ring, and then a message in the inbox. The message is discarded.
func TestDamageBeforeTheInbox(t *testing.T) {
	ts := local(t, 2, false)
	intoRing(t, ts[1], ts[0], 1, 0)
	e, number := endpointTo(t, ts[1], 0), shm.Lane(ts[1], 0)
	shm.AskBack(ts[0], number)
	require.NoError(t, e.Send(transport.Header{A: 1}, nil))
	require.Equal(t, -1, shm.Lane(ts[1], 0))
	require.NoError(t, e.Send(transport.Header{A: 2}, nil))
	ring, last := shm.Ring(ts[0], number), 0
	for off := 0; off < len(ring); off += 64 {
		if binary.NativeEndian.Uint64(ring[off:]) != 0 {
			last = off // in the end the offset of the record that returns the ring
		}
	}
	binary.NativeEndian.PutUint64(ring[last:], 1<<63|0x7f<<56)
	l := &log{}
	_, err := ts[0].Poll(l, 2) // reads the first message of the ring, and the rest before the inbox
	require.NoError(t, err)
	poll(t, ts[0], l, 2)
	require.Equal(t, []arrival{{1, transport.Header{A: 1}, nil}}, l.arrivals)
	require.Len(t, l.downs, 1)
}

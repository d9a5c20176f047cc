package iwarp_test

import (
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// TestLastWordsBeforeAFailedWrite has a peer send more bytes than this side reads at a time, and then reset the
// connection. This side learns of the reset by a write. The test checks that all messages of the peer arrive before
// the end of the connection is reported.
func TestLastWordsBeforeAFailedWrite(t *testing.T) {
	const length, messages = 32 << 10, 64
	spied := &spy{Provider: iwarp.New(iwarp.Config{})}
	adapter, err := verbs.Open(spied, loopback)
	require.NoError(t, err)
	s := wrap(t, adapter, length)
	ep := s.endpoint()
	p := dial(t, s, s.listen().Address())
	p.open(strangerOffer(), ep)
	for range messages {
		require.NoError(t, ep.PostReceive(&verbs.ReceiveRequest{Segments: []verbs.Segment{s.region.Segment(0, length)}}))
	}
	info, err := ep.Query()
	require.NoError(t, err)
	if err := iwarp.SetReceiveBuffer(spied.devices[0], info.Local, 4*messages*length); err != nil {
		t.Skip("the receive buffer cannot be made large enough:", err)
	}
	for i := range messages {
		p.send(p.fpdu(message(uint32(i+1), make([]byte, length))))
	}
	conn, err := p.conn.SyscallConn()
	require.NoError(t, err)
	for unacknowledged := -1; unacknowledged != 0; goruntime.Gosched() {
		require.NoError(t, conn.Control(func(fd uintptr) { unacknowledged, err = unix.IoctlGetInt(int(fd), unix.TIOCOUTQ) }))
		require.NoError(t, err)
	}
	require.NoError(t, p.conn.SetLinger(0))
	require.NoError(t, p.conn.Close())
	require.NoError(t, ep.Post(&verbs.WorkRequest{Op: verbs.OpSend, Segments: []verbs.Segment{s.region.Segment(0, 1)}}))
	s.event(ep)
	arrived := 0
	for _, c := range s.log {
		if c.Stream == verbs.StreamReceive && c.Status == verbs.StatusSuccess {
			arrived++
		}
	}
	require.Equal(t, messages, arrived)
}

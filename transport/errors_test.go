package transport_test

import (
	"errors"
	"io"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

func TestOpErrorNamesWhatFailedAndWhere(t *testing.T) {
	for want, err := range map[string]*transport.OpError{
		"send shm rank 3: peer is down":  {Op: "send", Transport: "shm", Peer: 3, Err: transport.ErrPeerDown},
		"get rdma rank 0: bad address":   {Op: "get", Transport: "rdma", Peer: 0, Err: syscall.EFAULT},
		"poll shm: transport is closed":  {Op: "poll", Transport: "shm", Peer: -1, Err: transport.ErrClosed},
		"put fake rank 1: not supported": {Op: "put", Transport: "fake", Peer: 1, Err: transport.ErrNotSupported},
	} {
		require.EqualError(t, err, want)
		require.ErrorIs(t, err, err.Err)
		var op *transport.OpError
		require.ErrorAs(t, errors.Join(io.EOF, err), &op)
		require.Same(t, err, op)
	}
}

func TestPeerDownIsBothTheLossAndItsCause(t *testing.T) {
	down := &transport.PeerDown{Peer: 2, Cause: syscall.ECONNRESET}
	require.EqualError(t, down, "rank 2 is down: connection reset by peer")
	wrapped := error(&transport.OpError{Op: "send", Transport: "rdma", Peer: 2, Err: down})
	require.ErrorIs(t, wrapped, transport.ErrPeerDown)
	require.ErrorIs(t, wrapped, syscall.ECONNRESET)
	require.NotErrorIs(t, wrapped, transport.ErrClosed)
	var got *transport.PeerDown
	require.ErrorAs(t, wrapped, &got)
	require.Equal(t, 2, got.Peer)
}

// TestSentinelsAreApart checks that no exported error matches another one, so that a caller cannot mistake one
// reason for another.
func TestSentinelsAreApart(t *testing.T) {
	sentinels := []error{
		transport.ErrAgain, transport.ErrNotSupported, transport.ErrPeerDown, transport.ErrClosed,
		transport.ErrDamaged, transport.ErrTooLong, transport.ErrBadKey,
	}
	for i, a := range sentinels {
		for j, b := range sentinels {
			require.Equal(t, i == j, errors.Is(a, b), "%v, %v", a, b)
		}
	}
}

package verbs_test

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

func TestFaultsAndErrnos(t *testing.T) {
	for fault, want := range map[verbs.Fault]struct {
		errno syscall.Errno
		text  string
	}{
		verbs.ErrInvalidState: {syscall.EINVAL, "invalid state"}, verbs.ErrInvalidParameter: {syscall.EINVAL, "invalid parameter"},
		verbs.ErrInvalidHandle: {syscall.EBADF, "invalid handle"}, verbs.ErrInvalidAddress: {syscall.EADDRNOTAVAIL, "invalid address"},
		verbs.ErrInsufficientResources: {syscall.ENOMEM, "insufficient resources"},
		verbs.ErrModelNotSupported:     {syscall.EOPNOTSUPP, "model not supported"},
		verbs.ErrProtectionViolation:   {syscall.EFAULT, "protection violation"},
		verbs.ErrPrivilegesViolation:   {syscall.EACCES, "privileges violation"},
		verbs.Fault(99):                {syscall.EINVAL, "fault 99"},
	} {
		require.ErrorIs(t, fault, want.errno)
		require.NotErrorIs(t, fault, syscall.ENOENT)
		require.EqualError(t, fault, want.text)
	}
}

func TestOpError(t *testing.T) {
	cause := errors.New("cable cut")
	for _, c := range []struct {
		err  *verbs.OpError
		text string
	}{
		{&verbs.OpError{Op: "connect", Provider: "iwarp", Peer: "10.0.0.1:2", Fault: verbs.ErrInvalidAddress, Err: cause}, "connect iwarp 10.0.0.1:2: invalid address: cable cut"},
		{
			&verbs.OpError{Op: "open", Provider: "iwarp", Fault: verbs.ErrInvalidParameter, Err: fmt.Errorf("%w: %w", verbs.ErrInvalidParameter, cause)},
			"open iwarp: invalid parameter: cable cut",
		},
		{&verbs.OpError{Op: "post", Provider: "iwarp", Fault: verbs.ErrInvalidState}, "post iwarp: invalid state"},
	} {
		require.EqualError(t, c.err, c.text)
		require.ErrorIs(t, c.err, c.err.Fault)
		require.Equal(t, c.err.Err != nil, errors.Is(c.err, cause))
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{verbs.StateTentativeConnectionPending.String(), "TENTATIVE_CONNECTION_PENDING"},
		{verbs.State(0).String(), "State(0)"},
		{verbs.State(99).String(), "State(99)"},
		{verbs.EventNonPeerRejected.String(), "NON_PEER_REJECTED"},
		{verbs.EventType(0).String(), "EventType(0)"},
		{verbs.StatusFlushed.String(), "flushed"},
		{verbs.Status(99).String(), "Status(99)"},
	} {
		require.Equal(t, c.want, c.got)
	}
}

package negotiation_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
)

func TestRejectGoldenBytes(t *testing.T) {
	r := negotiation.Reject{
		Reason: negotiation.Depth, Required: negotiation.Depths{IRD: 4, ORD: 300},
		Incarnation: 0x0708, Retry: 1500 * time.Millisecond, Nonce: 0xCAFEF00D,
	}
	b := r.Append(nil)
	require.Equal(t, "6752"+"10"+"35"+"0009"+"01"+"01"+"04"+"fe"+"0708"+"000005dc"+"cafef00d", hex.EncodeToString(b))
	require.Len(t, b, negotiation.RejectSize)
	got, err := negotiation.ParseReject(b, 0xCAFEF00D)
	require.NoError(t, err)
	r.MajorMin, r.MajorMax, r.Required.ORD = 1, 1, negotiation.MaxDepth
	require.Equal(t, r, got)
	for n := range negotiation.RejectSize {
		_, err := negotiation.ParseReject(b[:n], 0xCAFEF00D)
		require.Error(t, err, "%d bytes", n)
	}
	got, err = negotiation.ParseReject(append(b, make([]byte, 148-negotiation.RejectSize)...), 0xCAFEF00D)
	require.NoError(t, err)
	require.Equal(t, r, got)
}

// TestRejectOfAnotherMajor: a peer of another version can say so.
func TestRejectOfAnotherMajor(t *testing.T) {
	b := (&negotiation.Reject{Reason: negotiation.Version}).Append(nil)
	b[2], b[6], b[7] = 0x30, 2, 3
	got, err := negotiation.ParseReject(b, 5)
	require.NoError(t, err, "nonce 0: the peer could not read ours")
	err = &negotiation.RefusalError{Reject: got, Remote: true}
	require.ErrorContains(t, err, "versions 2 to 3")
	require.ErrorContains(t, err, "1.0")
}

func TestRejectOfAnotherRequest(t *testing.T) {
	b := (&negotiation.Reject{Reason: negotiation.Busy, Nonce: 7}).Append(nil)
	_, err := negotiation.ParseReject(b, 8)
	require.ErrorContains(t, err, "nonce")
	_, err = negotiation.ParseReject(make([]byte, 148), 8)
	require.Error(t, err, "the zeros of a refusal without data")
}

// TestReasonsSayWhatToDo: every reason has a name and a remedy, and reaches the
// user through errors.Is.
func TestReasonsSayWhatToDo(t *testing.T) {
	temporary := map[negotiation.Reason]bool{negotiation.Duplicate: true, negotiation.Simultaneous: true, negotiation.Busy: true}
	seen := map[string]negotiation.Reason{}
	for r := negotiation.Version; r <= negotiation.BadLength; r++ {
		require.NotContains(t, r.String(), "reason", "reason %d has a name", uint16(r))
		require.NotEmpty(t, r.Remedy())
		require.NotContains(t, seen, r.Remedy())
		seen[r.Remedy()] = r
		require.Equal(t, temporary[r], r.Temporary(), "%v", r)
		err := fmt.Errorf("connect rdma rank 3: %w", &negotiation.RefusalError{Reject: negotiation.Reject{Reason: r}, Remote: true})
		require.ErrorIs(t, err, negotiation.Refused(r))
		require.NotErrorIs(t, err, negotiation.Refused(r+1))
		require.ErrorContains(t, err, "by the peer")
		require.ErrorContains(t, err, r.Remedy())
	}
	unknown := negotiation.Reason(999)
	require.Equal(t, "reason 999", unknown.String())
	require.NotEmpty(t, unknown.Remedy())
	require.False(t, unknown.Temporary())
	require.Equal(t, "reason 0", negotiation.Reason(0).String())
}

func TestRejectOf(t *testing.T) {
	limits := negotiation.Limits{
		Want: negotiation.Depths{IRD: 16, ORD: 16}, Device: negotiation.Depths{IRD: 16, ORD: 16},
		Minimum: negotiation.Depths{IRD: 2, ORD: 3},
	}
	_, err := limits.Grant(negotiation.Depths{IRD: 1, ORD: 1}, negotiation.Event{})
	require.ErrorIs(t, err, negotiation.Refused(negotiation.Depth))
	r := negotiation.RejectOf(fmt.Errorf("accept: %w", err), 9)
	require.Equal(t, negotiation.Reject{Reason: negotiation.Depth, Required: negotiation.Depths{IRD: 3, ORD: 2}, Nonce: 9}, r)
	remote := &negotiation.RefusalError{Reject: r, Remote: true}
	require.ErrorContains(t, remote, "IRD 3 and ORD 2")
	_, err = limits.Grant(r.Required, negotiation.Event{})
	require.NoError(t, err, "what is required suffices")

	r = negotiation.RejectOf(errors.New("out of memory"), 9)
	require.Equal(t, negotiation.Busy, r.Reason)
	stale := &negotiation.RefusalError{Reject: negotiation.Reject{Reason: negotiation.StaleEpoch, Incarnation: 7}, Remote: true}
	require.ErrorContains(t, stale, "incarnation 7")
}

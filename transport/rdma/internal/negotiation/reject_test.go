package negotiation_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
)

// goldenReject was made with Python's struct and hmac modules from the table at Reject. It answers
// goldenRequest.
const goldenReject = "675220380009020200000708000005dce0cde9c14cf3ad6216a913a5f1e39894"

func depthReject() negotiation.Reject {
	return negotiation.Reject{
		Reason: negotiation.Depth, Incarnation: 0x0708, Retry: 1500 * time.Millisecond,
	}
}

func TestRejectGoldenBytes(t *testing.T) {
	req, r := unhex(t, goldenRequest), depthReject()
	b := credentials(1).AppendReject([]byte("before"), &r, req)
	require.Equal(t, "before"+string(unhex(t, goldenReject)), string(b))
	b = b[len("before"):]
	require.Len(t, b, negotiation.RejectSize)
	r.MajorMin, r.MajorMax = 2, 2
	for _, n := range []int{0, 4, 148 - negotiation.RejectSize} {
		got, err := credentials(3).OpenReject(append(bytes.Clone(b), bytes.Repeat([]byte{0xA5}, n)...), req, 1)
		require.NoError(t, err, "padded by %d", n)
		require.Equal(t, r, got)
	}
	padded := append(bytes.Clone(req), 0, 0, 0, 0)
	r = depthReject()
	require.Equal(t, b, credentials(1).AppendReject(nil, &r, padded), "the padding of the request is not in the tag")
}

// unproved checks that OpenReject returns no Reject for a refusal without a valid tag, but an UnprovenError
// with the reason.
func unproved(t *testing.T, want negotiation.Reason, b, request []byte, from uint32) {
	t.Helper()
	got, err := credentials(3).OpenReject(b, request, from)
	var unproven *negotiation.UnprovenError
	require.ErrorAs(t, err, &unproven)
	require.Equal(t, want, unproven.Reason)
	require.ErrorContains(t, err, want.String())
	require.ErrorContains(t, err, want.Remedy())
	require.NotErrorIs(t, err, negotiation.Refused(want), "a refusal without a valid tag is no RefusalError")
	require.Zero(t, got)
}

// TestRefusalsProveTheirSource checks, for every reason and for an unknown reason, that only the rank to which
// the request was sent can write a valid refusal. The refusal must be valid only for this request.
func TestRefusalsProveTheirSource(t *testing.T) {
	first := request()
	asked := credentials(3).AppendRequest(nil, &first, 1)
	other := func(change func(r *negotiation.Record)) []byte {
		r := first
		change(&r)
		return credentials(3).AppendRequest(nil, &r, 1)
	}
	for reason := range negotiation.Reachable + 2 {
		r := negotiation.Reject{Reason: reason, Retry: time.Hour}
		b := credentials(1).AppendReject(nil, &r, asked)
		got, err := credentials(3).OpenReject(b, asked, 1)
		require.NoError(t, err, "%v", reason)
		require.Equal(t, reason, got.Reason)

		for n := range len(b) {
			if n >= 6 {
				unproved(t, reason, b[:n], asked, 1)
				continue
			}
			_, err := credentials(3).OpenReject(b[:n], asked, 1)
			require.ErrorContains(t, err, "contain no Reject", "%d bytes", n)
		}
		for bit := range len(b) * 8 {
			flipped := bytes.Clone(b)
			flipped[bit/8] ^= 0x80 >> (bit % 8)
			_, err := credentials(3).OpenReject(flipped, asked, 1)
			require.Error(t, err, "bit %d", bit)
		}
		untagged := append(bytes.Clone(b[:16]), make([]byte, 148-16)...)
		unproved(t, reason, untagged, asked, 1)
		unproved(t, reason, b, asked, 2)
		for name, request := range map[string][]byte{
			"nonce":       other(func(r *negotiation.Record) { r.Nonce[11]++ }),
			"nonce 0":     other(func(r *negotiation.Record) { r.Nonce = negotiation.Nonce{} }),
			"attempt":     other(func(r *negotiation.Record) { r.Attempt++ }),
			"incarnation": other(func(r *negotiation.Record) { r.Incarnation++ }),
			"cut short":   asked[:55],
			"nothing":     nil,
		} {
			unproved(t, reason, b, request, 1)
			unproved(t, reason, credentials(1).AppendReject(nil, &r, request), asked, 1)
			require.NotEqual(t, b, credentials(1).AppendReject(nil, &r, request), name)
		}
		unproved(t, reason, guessing(1).AppendReject(nil, &r, asked), asked, 1)
	}
}

// TestRejectOfAnotherMajor checks that a peer with another major version can refuse with the reason Version.
func TestRejectOfAnotherMajor(t *testing.T) {
	req := unhex(t, goldenRequest)
	c := credentials(1)
	b := c.AppendReject(nil, &negotiation.Reject{Reason: negotiation.Version}, req)
	b[2], b[6], b[7] = 0x40, 3, 4
	unproved(t, negotiation.Version, b, req, 1)
	// The tag is computed in the same way by all versions.
	mac := hmac.New(sha256.New, negotiation.DeriveKey(key(), "job 7", "gorun rdma reject 2"))
	mac.Write(b[:16])
	mac.Write([]byte{0, 0, 0, 1})
	mac.Write(req)
	got, err := credentials(3).OpenReject(mac.Sum(b[:16])[:32], req, 1)
	require.NoError(t, err)
	err = &negotiation.RefusalError{Reject: got, Remote: true}
	require.ErrorContains(t, err, "versions 3 to 4")
	require.ErrorContains(t, err, "2.0")
}

// TestWhatIsNoRefusal checks that private data without a Reject, such as data of other programs or a request
// that is sent back, is not taken as a refusal.
func TestWhatIsNoRefusal(t *testing.T) {
	req := unhex(t, goldenRequest)
	for name, b := range map[string][]byte{
		"zeros":     make([]byte, 148), // a reject without private data, as the network pads it
		"words":     []byte("connection refused, sorry for that"),
		"a request": req,
		"a reply":   unhex(t, goldenReply),
	} {
		_, err := credentials(3).OpenReject(b, req, 1)
		require.ErrorContains(t, err, "contain no Reject", name)
	}
}

// TestReasonsSayWhatToDo checks that every reason has a name and a remedy, and that errors.Is finds it.
func TestReasonsSayWhatToDo(t *testing.T) {
	temporary := map[negotiation.Reason]bool{negotiation.Duplicate: true, negotiation.Simultaneous: true, negotiation.Busy: true}
	seen := map[string]negotiation.Reason{}
	for r := negotiation.Version; r <= negotiation.Reachable; r++ {
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
	_, err := negotiation.Settle(negotiation.Depths{IRD: 1, ORD: 1}, negotiation.Depths{IRD: 1, ORD: 2})
	require.ErrorIs(t, err, negotiation.Refused(negotiation.Depth))
	r := negotiation.RejectOf(fmt.Errorf("accept: %w", err))
	require.Equal(t, negotiation.Reject{Reason: negotiation.Depth}, r)
	r = negotiation.RejectOf(errors.New("out of memory"))
	require.Equal(t, negotiation.Busy, r.Reason)
	stale := &negotiation.RefusalError{Reject: negotiation.Reject{Reason: negotiation.StaleEpoch, Incarnation: 7}, Remote: true}
	require.ErrorContains(t, stale, "incarnation 7")
}

// FuzzOpenReject checks that only a refusal that the destination of the request has written is accepted.
func FuzzOpenReject(f *testing.F) {
	req := unhex(f, goldenRequest)
	good := unhex(f, goldenReject)
	for n := range len(good) + 1 {
		f.Add(good[:n])
	}
	for reason := range negotiation.Reachable + 2 {
		f.Add(credentials(2).AppendReject(nil, &negotiation.Reject{Reason: reason}, req))
	}
	f.Add(req)
	f.Add(make([]byte, 148))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := credentials(3).OpenReject(b, req, 1)
		if err == nil {
			require.Equal(t, good, b[:negotiation.RejectSize], "rank 1 has signed nothing else")
			require.Equal(t, negotiation.Depth, got.Reason)
			return
		}
		require.NotEmpty(t, err.Error())
	})
}

package bootstrap_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// revocations lets a rank revoke communicators with ascending numbers. The argument first is the first of
// these numbers. The rank revokes ten times as many communicators as a session's channel can hold notices,
// and returns their number.
func revocations(t *testing.T, s *bootstrap.Session, first uint64) (count uint64) {
	t.Helper()
	count = uint64(10 * cap(s.Notices()))
	for i := range count {
		require.NoError(t, s.Revoke(bootstrap.Revocation{Generation: s.Job().Generation, Comm: first + i}))
	}
	return count
}

// A rank that reads no notices still completes the exchange and its fences. When the rank reads the notices
// later, it receives all of them in order.
func TestNoticesThatAreNotTaken(t *testing.T) {
	w := newWorld(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	count := revocations(t, w.sessions[1], 1)
	for _, err := range w.each(w.all(), func(s *bootstrap.Session) error {
		_, err := s.Exchange(ctx, s.Card())
		return errors.Join(err, s.Fence(ctx))
	}) {
		require.NoError(t, err)
	}
	for _, s := range w.sessions {
		for i := range count {
			select {
			case n := <-s.Notices():
				require.Equal(t, bootstrap.Revoked, n.Kind)
				require.Equal(t, 1+i, n.Revocation.Comm)
			case <-ctx.Done():
				t.Fatal("a notice is missing")
			}
		}
	}
}

// A session discards all waiting notices of a generation that is over, even if there are many. The first
// notice in the next generation is a notice of that generation.
func TestNoticesOfAnOldGeneration(t *testing.T) {
	w := newWorld(t, 3)
	revocations(t, w.sessions[1], 1)
	w.exchange(t, w.all())
	lost := w.sessions[1]
	w.renew(t, 1, 1)
	_ = lost.Finalize() // an error is expected, because the connection of lost has ended
	w.rejoin(t, 1, 1)
	w.exchange(t, w.all())
	const last = 1 << 20
	require.NoError(t, w.sessions[0].Revoke(bootstrap.Revocation{Generation: 1, Comm: last}))
	n := <-w.sessions[0].Notices()
	require.Equal(t, bootstrap.Revoked, n.Kind)
	require.EqualValues(t, last, n.Revocation.Comm)
}

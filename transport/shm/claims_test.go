package shm_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// inboxPositions returns every position of an inbox. With -short it returns only the positions near
// the ends of the quarters of the inbox, where the reader frees slots.
func inboxPositions() []int {
	var all []int
	for pos := range shm.InboxSlots + 8 {
		if near := (pos + 8) % (shm.InboxSlots / 4); !testing.Short() || near < 12 {
			all = append(all, pos)
		}
	}
	return all
}

// inboxOnly makes ranks that send to rank 0 only through the inbox of rank 0, because rank 1 has
// taken all rings of rank 0.
func inboxOnly(tb testing.TB, ranks int) []*shm.Transport {
	tb.Helper()
	ts := local(tb, ranks, false)
	for range shm.RingsPerRank {
		require.GreaterOrEqual(tb, shm.TakeRing(ts[1], 0), 0)
	}
	return ts
}

// talk sends n messages from rank 1 to rank 0. Each message fills one slot, and rank 0 reads it
// before the next message is sent.
func talk(tb testing.TB, ts []*shm.Transport, n int) {
	tb.Helper()
	e, c := endpointTo(tb, ts[1], 0), &counter{}
	for i := range n {
		require.NoError(tb, e.Send(transport.Header{A: uint64(i)}, nil))
		for c.arrived <= i {
			_, err := ts[0].Poll(c, 16)
			require.NoError(tb, err)
		}
	}
}

// Producers that are killed between the claim of a slot and the update of the tail do not block
// other producers. This holds at any position of the inbox: the other producers continue for more
// than a lap.
func TestClaimsWithoutTail(t *testing.T) {
	for i, pos := range inboxPositions() {
		dead := 1 + i%3
		ts := inboxOnly(t, 2+dead)
		talk(t, ts, pos)
		for rank := 2; rank < len(ts); rank++ {
			shm.Claim(ts[rank], 0, 3, false)
			ts[0].MarkDown(rank, transport.ErrClosed)
		}
		l := &log{}
		for len(l.downs) < dead {
			poll(t, ts[0], l, 1)
		}
		require.Empty(t, l.arrivals)
		talk(t, ts, shm.InboxSlots+16)
		poll(t, ts[0], l, 1)
		require.Len(t, l.downs, dead, "at %d: %v", pos, l.downs)
	}
}

// A producer claims the last slots of the inbox and is stopped before it updates the tail. It does
// not block other producers, and it is not reported as lost.
func TestSkipWithoutTail(t *testing.T) {
	for before := 1; before < 8; before++ {
		ts := inboxOnly(t, 3)
		talk(t, ts, shm.InboxSlots-before)
		shm.Claim(ts[2], 0, 8, false)
		l := &log{}
		poll(t, ts[0], l, 2)
		talk(t, ts, shm.InboxSlots+16)
		require.NoError(t, endpointTo(t, ts[2], 0).Send(transport.Header{A: 9}, nil))
		poll(t, ts[0], l, 2)
		require.Equal(t, []arrival{{2, transport.Header{A: 9}, nil}}, l.arrivals)
		require.Empty(t, l.downs)
	}
}

// Rank processes that are killed right after they have claimed a record of the largest size do not
// block other ranks.
func TestKilledBetweenClaimAndTail(t *testing.T) {
	s := newStage(t, "echo", 4, false)
	for rank := 1; rank <= 2; rank++ {
		require.NoError(t, endpointTo(t, s.tr, rank).Send(transport.Header{A: wordClaim}, nil))
		c := s.procs[rank-1]
		require.Error(t, c.Wait())
		require.Equal(t, unix.SIGKILL, c.ProcessState.Sys().(syscall.WaitStatus).Signal())
		s.tr.MarkDown(rank, unix.ESRCH)
	}
	require.NoError(t, s.poll(func() bool { return len(s.downs) == 2 }))
	e := endpointTo(t, s.tr, 3)
	for i := range 100 {
		require.NoError(t, e.Send(transport.Header{A: wordData, B: uint64(i)}, nil))
		require.NoError(t, s.poll(func() bool { return len(s.arrivals) > i || len(s.downs) > 2 }))
	}
	require.Len(t, s.downs, 2)
}

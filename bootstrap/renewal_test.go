package bootstrap_test

import (
	"fmt"
	"net"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// renew begins a generation in which one rank, whose number is the argument lost, is started again over a new
// pipe. It waits until the other ranks know of that generation.
func (w *world) renew(t *testing.T, lost, generation int) {
	t.Helper()
	job := func(rank int) bootstrap.Job {
		return bootstrap.Job{
			Rank: rank, Size: len(w.sessions), LocalRank: rank, LocalSize: len(w.sessions), Nodes: 1, ID: "test", Processors: 1,
			Generation: generation, OnFailure: bootstrap.OnFailureRespawn,
		}
	}
	cause := func(rank int) string { return fmt.Sprintf("rank %d was killed", rank) }
	want := make([][]int, len(w.sessions)) // with the ranks of earlier renewals that a rank has not entered
	for rank, s := range w.sessions {
		want[rank] = []int{lost}
		if r := s.Renewal(); r != nil {
			want[rank] = append(want[rank], r.Lost...)
		}
		slices.Sort(want[rank])
	}
	_ = w.agent[lost].Close()
	<-w.served[lost]
	begun, err := w.server.Renew(bootstrap.Next{Lost: []int{lost}, Cause: cause(lost), Describe: job})
	require.NoError(t, err)
	require.True(t, begun)
	mine, theirs := net.Pipe()
	w.agent[lost], w.sessions[lost] = mine, bootstrap.Attach(job(lost), theirs, nil, [32]byte{1})
	go func() { w.served[lost] <- w.server.Serve(lost, mine) }()
	for rank, s := range w.sessions {
		if rank != lost {
			<-s.Renewed()
			for s.Renewal().Job.Generation != generation {
				continue
			}
			require.Equal(t, want[rank], s.Renewal().Lost)
			require.Equal(t, cause(want[rank][0]), s.Renewal().Cause)
		}
	}
}

// rejoin lets all ranks enter the next generation, except the rank whose number is the argument but.
func (w *world) rejoin(t *testing.T, but, generation int) {
	t.Helper()
	for rank, s := range w.sessions {
		if rank != but {
			require.NoError(t, s.Renew())
			require.Nil(t, s.Renewal())
			require.Equal(t, generation, s.Job().Generation)
		}
	}
}

// Ranks exchange cards and call Fence in a new generation as in the first generation. Operations that began
// in the old generation end with ErrRenewed, and reports from the old generation are discarded. After a fence
// of the new generation, Renew does not begin another generation.
func TestRenewal(t *testing.T) {
	w := newWorld(t, 3)
	w.exchange(t, w.all())
	waiting := make(chan error)
	go func() { waiting <- w.sessions[0].Fence(t.Context()) }()
	w.renew(t, 1, 1)
	require.ErrorIs(t, <-waiting, bootstrap.ErrRenewed)
	require.ErrorIs(t, w.sessions[2].Fence(t.Context()), bootstrap.ErrRenewed)
	require.NoError(t, w.sessions[2].Report(1, "of the old generation"))
	w.rejoin(t, 1, 1)
	require.Error(t, w.sessions[0].Renew(), "there is no other generation")
	w.exchange(t, w.all())
	for _, err := range w.each(w.all(), func(s *bootstrap.Session) error { return s.Fence(t.Context()) }) {
		require.NoError(t, err)
	}
	require.False(t, w.server.Renewable(0), "a fence is complete")
	begun, err := w.server.Renew(bootstrap.Next{Lost: []int{0}})
	require.NoError(t, err)
	require.False(t, begun)
	for len(w.events) > 0 {
		e := <-w.events
		require.NotEqual(t, bootstrap.EventReport, e.Kind, e.Text)
	}
}

// Ranks are lost while the other ranks exchange cards, and again before the other ranks have entered the next
// generation. The other ranks then enter the last generation directly.
func TestRenewalOfARenewal(t *testing.T) {
	w := newWorld(t, 3)
	waiting := make(chan error)
	go func() {
		_, err := w.sessions[0].Exchange(t.Context(), w.sessions[0].Card())
		waiting <- err
	}()
	require.Equal(t, 0, w.next(t, bootstrap.EventJoined).Rank)
	w.renew(t, 1, 1)
	require.ErrorIs(t, <-waiting, bootstrap.ErrRenewed)
	w.renew(t, 2, 2)
	w.rejoin(t, 2, 2)
	w.exchange(t, w.all())
}

// Votes and revocations of an old generation do not count in a later generation. The test uses the
// communicator of all ranks, which has the same identity in both generations, and agreements with the same
// round.
func TestVotesOfOldGenerations(t *testing.T) {
	w := newWorld(t, 3)
	w.exchange(t, w.all())
	vote := func(generation int) bootstrap.Vote {
		return bootstrap.Vote{
			Generation: generation, Comm: 5, Round: 1, Purpose: bootstrap.PurposeFlags, Flags: uint64(generation), Members: w.all(),
		}
	}
	w.renew(t, 1, 1)
	require.NoError(t, w.sessions[0].Vote(vote(0)), "the rank has not entered the next generation")
	w.rejoin(t, 1, 1)
	w.exchange(t, w.all())
	require.ErrorIs(t, w.sessions[2].Vote(vote(0)), bootstrap.ErrRenewed)
	require.ErrorIs(t, w.sessions[2].Revoke(bootstrap.Revocation{Comm: 5}), bootstrap.ErrRenewed)
	for _, s := range w.sessions {
		require.NoError(t, s.Vote(vote(1)))
	}
	for _, s := range w.sessions {
		d, _ := decision(t, s)
		require.Equal(t, uint64(1), d.Flags)
	}
}

// After a call of Gone for a rank, Renewable returns false for this rank and for other ranks.
func TestRenewalWithoutARank(t *testing.T) {
	w := newWorld(t, 3)
	w.exchange(t, w.all())
	require.True(t, w.server.Renewable(0))
	w.server.Gone(2, "was killed")
	require.False(t, w.server.Renewable(0))
	require.False(t, w.server.Renewable(2))
}

// Any goroutine may call Memory while another one calls Renew.
func TestMemoryDuringRenew(t *testing.T) {
	w := newWorld(t, 2)
	w.exchange(t, w.all())
	w.renew(t, 1, 1)
	read := make(chan struct{})
	go func() {
		defer close(read)
		w.sessions[0].Memory()
	}()
	w.rejoin(t, 1, 1)
	<-read
}

package runtime

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/internal/localjob"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// noticeOf returns the notice of a break by a rank.
func noticeOf(rank int) []byte { return breakNotice(rank, rank, errors.New("why")) }

// A Break that has found the communicator open notifies the other members, even if Close ends before Break acts.
func TestBreakBesideClose(t *testing.T) {
	require.NoError(t, Local(2, func(w *World) error {
		c, err := w.Comm().Dup()
		require.NoError(t, err)
		if w.Rank() == 1 {
			_, err := Recv(c, []int{0}, 0, 0)
			require.ErrorIs(t, err, ErrCommBroken)
			return nil
		}
		require.NoError(t, c.Close())
		w.broken(c.core, &BrokenError{Comm: c.core.name, Cause: errors.New("why")}, noticeOf(0)) // the end of Break
		return nil
	}))
}

// A rank that closes a communicator which another member has broken passes the break on. Here the break of rank 2 has
// reached rank 0 alone.
func TestCloseAfterABreakByAnotherRank(t *testing.T) {
	lost := &PeerError{Rank: 2, Op: "receive", Cause: errors.New("why")}
	require.NoError(t, Local(3, func(w *World) error {
		c, err := w.Comm().Dup()
		require.NoError(t, err)
		switch w.Rank() {
		case 0:
			w.broken(c.core, &BrokenError{Comm: c.core.name, Rank: 2, Cause: lost, member: 2, origin: 2}, nil)
			require.NoError(t, c.Close())
		case 1:
			err := Ssend(c, []int{0}, 0, 0)
			require.ErrorIs(t, err, ErrCommBroken)
			peer, ok := errors.AsType[*PeerError](err)
			require.True(t, ok)
			require.Equal(t, 2, peer.Rank)
			broken, _ := errors.AsType[*BrokenError](err)
			require.Equal(t, [2]int{2, 2}, [2]int{broken.Rank, broken.FailureOrigin()})
		}
		return nil
	}))
}

// Before a decided call of Agree or Shrink returns, this rank has acted on an earlier revocation by a lost rank. Here
// the goroutine that acts on the revocation is slow.
func TestRevocationByALostRank(t *testing.T) {
	require.NoError(t, Local(3, func(w *World) error {
		c, err := w.Comm().Dup()
		if err != nil || w.Rank() != 0 {
			return err
		}
		c.core.breaking.Lock()
		w.takeRevocation(&bootstrap.Revocation{Comm: c.core.identity, Number: c.core.number, Rank: 2, Text: noticeOf(2)[1:]})
		w.revocations.lost(2)
		w.revocations.mu.Lock()
		require.Len(t, w.revocations.pending[2], 1)
		w.revocations.mu.Unlock()
		revoked := make(chan bool)
		go func() {
			w.revocations.settle(c.core.identity)
			revoked <- c.IsRevoked()
		}()
		c.core.breaking.Unlock()
		require.True(t, <-revoked)
		return nil
	}))
}

// immediate is a launcher without delays.
type immediate struct{}

func (immediate) Up(_ int, arrive func())   { go arrive() }
func (immediate) Down(_ int, arrive func()) { go arrive() }

// Vote returns an error if its rank has voted in too many undecided agreements. With a localjob.Launcher, Vote returns
// before the vote arrives, so the refused vote ends the rank instead.
func TestTooManyVotes(t *testing.T) {
	for _, way := range []localjob.Launcher{nil, immediate{}} {
		j, err := newLocalJob(2, engine.WaitPolicy{}, localjob.Config{Launcher: way})
		require.NoError(t, err)
		j.start(func(w *World) error {
			if w.Rank() != 0 {
				return nil
			}
			v := bootstrap.Vote{Purpose: bootstrap.PurposeFlags, Comm: 1, Members: []int{0, 1}}
			for ; v.Round < 5000; v.Round++ {
				if err := w.council.Vote(v); err != nil {
					return err
				}
			}
			require.NotNil(t, way)
			_, err := Recv(w.Comm(), []int{0}, 1, 0) // rank 1 sends nothing
			return err
		})
		require.ErrorIs(t, j.Wait(t.Context()), bootstrap.ErrMalformed)
	}
}

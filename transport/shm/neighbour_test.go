package shm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// ranksOf makes n ranks on a local node of this process. The ranks are closed at the end of the test.
func ranksOf(t *testing.T, n int) []*shm.Transport {
	t.Helper()
	node, err := shm.NewLocalNode(n)
	require.NoError(t, err)
	ts := make([]*shm.Transport, n)
	for i := range ts {
		ts[i], err = shm.New(node, shm.Config{Rank: i, LocalRank: i})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, ts[i].Close()) })
	}
	return ts
}

// Transport.Ring wakes the rank that it names, also if the call of Ring comes between Prepare and
// Sleep. It wakes no other rank.
func TestRingEndsTheSleepOfAnotherRank(t *testing.T) {
	ts := ranksOf(t, 2)
	s := ts[1].Sleeper()
	ticket := s.Prepare()
	ts[0].Ring(1)
	s.Sleep(ticket, -1) // returns, because it was rung since Prepare

	ticket = s.Prepare()
	slept := make(chan struct{})
	go func() { s.Sleep(ticket, -1); close(slept) }()
	ts[0].Ring(0)
	ts[0].Ring(2)
	ts[0].Ring(-1)
	select {
	case <-slept:
		t.Fatal("rung by a ring for others")
	default:
	}
	ts[0].Ring(1)
	<-slept
}

// Transport.Ring of the rank itself ends the Sleep of the rank's goroutines, whichever Sleeper they use.
func TestRingEndsTheSleepOfTheRankItself(t *testing.T) {
	for _, cfg := range []shm.Config{{}, {Connected: true}, {Alone: true}} {
		ts, node := mapped(t, 1, cfg)
		s := ts[0].Sleeper()
		ticket := s.Prepare()
		ts[0].Ring(0)
		s.Sleep(ticket, -1) // returns, because it was rung since Prepare
		require.NoError(t, ts[0].Close())
		require.NoError(t, node.Close())
	}
}

// Shared returns the memory that a key of any rank's arena names, and an error for a wrong rank,
// token or range.
func TestSharedReachesTheMemoryOfAnyRank(t *testing.T) {
	ts := ranksOf(t, 2)
	mine, err := ts[1].Arena().Bytes(4096, 8)
	require.NoError(t, err)
	key := ts[1].Arena().Key(4096)
	for _, tr := range ts {
		b, err := tr.Shared(1, key, 8)
		require.NoError(t, err)
		require.Same(t, &mine[0], &b[0])
	}
	_, err = ts[0].Shared(2, key, 8)
	require.ErrorIs(t, err, transport.ErrNotSupported)
	_, err = ts[0].Shared(1, transport.Key{Addr: key.Addr, Token: 99}, 8)
	require.ErrorIs(t, err, transport.ErrNotSupported)
	for _, bad := range []transport.Key{{Addr: 1 << 35, Token: key.Token}, {Addr: 1<<64 - 4, Token: key.Token}, ts[1].Arena().Key(64 << 20)} {
		_, err = ts[0].Shared(1, bad, 8)
		require.ErrorIs(t, err, transport.ErrBadKey)
	}
	_, err = ts[0].Shared(1, key, -1)
	require.ErrorIs(t, err, transport.ErrBadKey)
}

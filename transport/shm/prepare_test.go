package shm_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// prepare calls Prepare for the endpoint from a transport to a rank.
func prepare(t *testing.T, tr *shm.Transport, peer int) {
	t.Helper()
	way, ok := endpointTo(t, tr, peer).(transport.Preparer)
	require.True(t, ok)
	way.Prepare()
	way.Prepare() // a second call changes nothing
}

// On a node with a ring for every pair, all messages of prepared pairs go through their rings,
// including the first ones. On a larger node no pairs are prepared, and messages begin in the
// inbox.
func TestPreparedPairs(t *testing.T) {
	for _, ranks := range []int{1, 2, shm.RingsPerRank + 1, shm.RingsPerRank + 2} {
		small := ranks <= shm.RingsPerRank+1
		ts, node := mapped(t, ranks, shm.Config{})
		for _, tr := range ts {
			partners := tr.Partners()
			if !small {
				require.Empty(t, partners)
				continue
			}
			require.Len(t, partners, ranks-1)
			for _, peer := range partners {
				prepare(t, tr, peer)
			}
		}
		for i, tr := range ts {
			for peer := range ts {
				if peer == i {
					continue
				}
				require.False(t, tr.Known(peer))
				require.Equal(t, small, shm.Lane(tr, peer) >= 0, "%d ranks, from %d to %d", ranks, i, peer)
				for n := range uint64(3) {
					require.NoError(t, endpointTo(t, tr, peer).Send(transport.Header{A: uint64(i), B: n}, nil))
				}
				require.True(t, tr.Known(peer))
			}
		}
		for i, tr := range ts {
			got := &log{}
			poll(t, tr, got, 3*(ranks-1))
			next := map[int]uint64{}
			for _, a := range got.arrivals {
				require.Equal(t, transport.Header{A: uint64(a.peer), B: next[a.peer]}, a.header, "at %d", i)
				next[a.peer]++
			}
			require.Len(t, next, ranks-1)
		}
		for _, tr := range ts {
			require.NoError(t, tr.Close())
		}
		require.NoError(t, node.Close())
	}
}

// Known remains true for a prepared peer with which messages were exchanged, after the peer or this rank has closed.
// For a prepared peer without messages, Known remains false after a close. For both peers Known is true when the loss
// of the peer was reported.
func TestKnownAfterTheRing(t *testing.T) {
	for _, messages := range []int{0, 1} {
		ts, node := mapped(t, 3, shm.Config{})
		for _, pair := range [][2]int{{0, 1}, {0, 2}, {1, 0}, {2, 0}} {
			prepare(t, ts[pair[0]], pair[1])
		}
		got := &log{}
		for range messages {
			require.NoError(t, endpointTo(t, ts[1], 0).Send(transport.Header{}, nil))
			require.NoError(t, endpointTo(t, ts[0], 2).Send(transport.Header{}, nil))
		}
		require.NoError(t, ts[1].Close())
		poll(t, ts[0], got, 4)
		require.Len(t, got.arrivals, messages)
		require.Equal(t, messages > 0, ts[0].Known(1), "the peer has closed")
		require.NoError(t, ts[0].Close())
		require.Equal(t, messages > 0, ts[0].Known(2), "this rank has closed")
		poll(t, ts[2], got, 4)
		require.Equal(t, messages > 0, ts[2].Known(0), "the peer has closed")
		ts[2].MarkDown(0, unix.ESRCH)
		poll(t, ts[2], got, 1)
		require.Len(t, got.downs, 1)
		require.True(t, ts[2].Known(0), "its loss was reported")
		require.NoError(t, ts[2].Close())
		require.NoError(t, node.Close())
	}
}

// Prepare has no effect for a peer that has not joined, so the first messages go to the peer's
// inbox. After the peer has joined, Prepare works.
func TestPrepareBeforeThePeerHasJoined(t *testing.T) {
	fd := memory(t, 2)
	node, err := shm.OpenNode(fd, 2, rangeBytes)
	require.NoError(t, err)
	require.NoError(t, unix.Close(fd))
	first, err := shm.New(node, shm.Config{Rank: 0, LocalRank: 0})
	require.NoError(t, err)
	prepare(t, first, 1)
	require.Equal(t, -1, shm.Lane(first, 1))
	require.NoError(t, endpointTo(t, first, 1).Send(transport.Header{A: 7}, nil))
	second, err := shm.New(node, shm.Config{Rank: 1, LocalRank: 1})
	require.NoError(t, err)
	prepare(t, first, 1)
	require.NotEqual(t, -1, shm.Lane(first, 1))
	require.True(t, first.Known(1), "a message was sent before")
	require.NoError(t, endpointTo(t, first, 1).Send(transport.Header{A: 8}, nil))
	got := &log{}
	poll(t, second, got, 2)
	require.Equal(t, uint64(7), got.arrivals[0].header.A)
	require.Equal(t, uint64(8), got.arrivals[1].header.A)
	require.NoError(t, first.Close())
	require.NoError(t, second.Close())
	require.NoError(t, node.Close())
}

// On a small node the pages of the rings are populated when a rank joins. If the node has at most
// fewRanks ranks, the pages of the staging buffers are populated, too. On a larger node pages are
// populated when they are used.
func TestPagesOfSmallNodes(t *testing.T) {
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(page)) }()
	if err := unix.Madvise(page, unix.MADV_POPULATE_WRITE); err != nil {
		t.Skipf("MADV_POPULATE_WRITE: %v", err)
	}
	if n, err := resident(page); err == nil && n == 0 {
		t.Skip("madvise(MADV_POPULATE_WRITE): <nil>, and not done") // as in a user-mode emulator
	}
	rings := func(ranks int) int {
		ts, node := mapped(t, ranks, shm.Config{})
		n, err := resident(shm.Control(ts[0], 0)[shm.OffRings:])
		require.NoError(t, err)
		for _, tr := range ts {
			require.NoError(t, tr.Close())
		}
		require.NoError(t, node.Close())
		return n
	}
	require.GreaterOrEqual(t, rings(3), 2*shm.RingLength(3))
	require.Less(t, rings(3), 3*shm.RingLength(3))
	require.Zero(t, rings(shm.RingsPerRank+2))
	for ranks, want := range map[int]int{2: shm.StagingBytes, 4: shm.StagingBytes, 5: 0} {
		ts, node := mapped(t, ranks, shm.Config{})
		n, err := resident(shm.Buffers(ts[0]))
		require.NoError(t, err)
		require.Equal(t, want, n, "%d ranks", ranks)
		for _, tr := range ts {
			require.NoError(t, tr.Close())
		}
		require.NoError(t, node.Close())
	}
}

package shm_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// The node memory in use grows with the number of ranks, and not with the number of pairs of ranks. The test
// measures 64 ranks and computes the numbers for 256 ranks. 256 ranks take less than 256 MiB, even if every
// rank sends so many messages to every other rank that it requests a ring. This number does not include the
// staging buffers. On a node of more than fewRanks ranks, staging buffers are touched only by Gets and Puts of
// private memory that go through them. With all staging buffers in use, 256 ranks take up to 279 MiB.
func TestMemoryOfManyRanks(t *testing.T) {
	const ranks, each = 64, 40
	fd := memory(t, ranks)
	defer unix.Close(fd)
	node, err := shm.OpenNode(fd, ranks, rangeBytes)
	require.NoError(t, err)
	var ts []*shm.Transport
	for i := range ranks {
		tr, err := shm.New(node, shm.Config{Rank: i, LocalRank: i})
		require.NoError(t, err)
		ts = append(ts, tr)
	}
	counters := make([]counter, ranks)
	payload := make([]byte, 200)
	for range each {
		for from, tr := range ts {
			for to := range ranks {
				if from == to {
					continue
				}
				for endpointTo(t, tr, to).Send(transport.Header{}, payload) != nil {
					_, _ = ts[to].Poll(&counters[to], 1000)
				}
			}
		}
	}
	for i, tr := range ts {
		for counters[i].arrived < each*(ranks-1) {
			_, err := tr.Poll(&counters[i], 1000)
			require.NoError(t, err)
		}
		require.NoError(t, tr.Close())
	}
	var st unix.Stat_t
	require.NoError(t, unix.Fstat(fd, &st))
	used := st.Blocks * 512
	t.Logf("%d KiB for each of %d ranks", used/ranks>>10, ranks)
	require.LessOrEqual(t, used, int64(ranks*controlBytes(ranks)), "staging buffers are untouched")
	require.Less(t, 256*controlBytes(256), 256<<20)
	require.Less(t, shm.LongRingRanks*controlBytes(shm.LongRingRanks), 80<<20)
	require.Equal(t, 279, 256*(controlBytes(256)+shm.StagingBytes)>>20, "MiB with all staging buffers")
	require.NoError(t, node.Close())
}

// controlBytes returns the number of bytes of a rank's control area that are in use if its peers use all rings.
func controlBytes(ranks int) int { return shm.OffRings + shm.RingsPerRank*shm.RingLength(ranks) }

// Arena.Offset returns false for a slice that begins in the arena and ends beyond the arena.
func TestOffsetOfWhatEndsBeyondTheArena(t *testing.T) {
	a := pair(t)[0].Arena()
	last, err := a.Bytes(a.Size()-100, 100)
	require.NoError(t, err)
	off, in := a.Offset(last)
	require.True(t, in)
	require.Equal(t, a.Size()-100, off)
	_, in = a.Offset(longer(last, 1))
	require.False(t, in)
}

// An operation of a peer on bytes that lie in two spans of the owner's arena fails and changes neither span.
// Spans exist only if the ranks are goroutines.
func TestPeerReplacesNoChunk(t *testing.T) {
	const chunk = 4 << 20
	ts := local(t, 2, false)
	e, owner := endpointTo(t, ts[0], 1), ts[1].Arena()
	own := func(off int) []byte {
		b, err := owner.Bytes(off, chunk)
		require.NoError(t, err)
		return b
	}
	copy(own(0), "first")
	copy(own(chunk), "second")
	for name, f := range map[string]func() error{
		"map":                 func() error { _, err := e.Map(owner.Key(0), 2*chunk); return err },
		"map of three":        func() error { _, err := e.Map(owner.Key(0), 3*chunk); return err },
		"map from the middle": func() error { _, err := e.Map(owner.Key(chunk/2), 3*chunk); return err },
		"get":                 func() error { return e.Get(make([]byte, 2*chunk), owner.Key(0), 1) },
	} {
		require.ErrorIs(t, f(), transport.ErrBadKey, name)
		require.Equal(t, "first", string(own(0)[:5]), name)
		require.Equal(t, "second", string(own(chunk)[:6]), name)
	}
	third, err := e.Map(owner.Key(2*chunk), chunk)
	require.NoError(t, err)
	third[0] = 7
	require.Equal(t, byte(7), own(2 * chunk)[0])
}

// Bytes of an arena that were discarded are zeros in the slices that the owner already has, and these slices are the
// memory that peers map. The bytes are whole chunks of an arena on the heap, and a part of a chunk.
func TestDiscardedBytesRemainTheSameMemory(t *testing.T) {
	const chunk = 4 << 20
	for name, ts := range map[string][]*shm.Transport{"heap": local(t, 2, false), "mapped": pair(t)} {
		for _, n := range []int{4096, chunk, 2*chunk + 4096} {
			a := ts[1].Arena()
			own, err := a.Bytes(0, 3*chunk)
			require.NoError(t, err)
			for i := range own {
				own[i] = 1
			}
			require.NoError(t, a.Discard(0, n))
			theirs, err := endpointTo(t, ts[0], 1).Map(a.Key(0), 3*chunk)
			require.NoError(t, err)
			require.Same(t, &own[0], &theirs[0], "%s, %d bytes", name, n)
			require.Equal(t, n, bytes.Count(own, []byte{0}), "%s, %d bytes", name, n)
			require.Equal(t, byte(1), own[n])
		}
	}
}

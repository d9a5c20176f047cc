package checkpoint

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/packing"
	"github.com/gorun-hpc/gorun/runtime"
)

// passing simulates count blocks of n bytes on a path with a rate. The argument every is the number
// of blocks in a group, and the sender waits for the first block of each group.
func passing(w *way, now time.Time, count, n int, rate float64, every int) time.Time {
	for i := range count {
		now = now.Add(time.Duration(float64(n) / rate * float64(time.Second)))
		w.ended(n, now, i%every == 0)
	}
	return now
}

// TestWay checks the measured rate of a path while blocks are always in progress, whether the
// sender waits for each block or for one of three.
func TestWay(t *testing.T) {
	var w way
	require.Zero(t, w.pace(), "nothing is known")
	now := time.Unix(1000, 0)
	for _, every := range []int{1, 3} {
		now = passing(&w, now, 31, blockBytes, 1e8, every)
		p := w.pace()
		require.True(t, p.Bound)
		require.InEpsilon(t, 1e8, p.Rate, 0.01)
		require.False(t, w.pace().Bound, "it was told")
	}
	// The time without a block in progress does not count, and neither do the blocks that ended
	// after the last wait.
	now = passing(&w, now, 10, blockBytes, 2e8, 1)
	w.ended(blockBytes, now, false)
	w.idle()
	now = passing(&w, now.Add(time.Hour), 10, blockBytes, 2e8, 1)
	require.InEpsilon(t, 2e8, w.pace().Rate, 0.01)
	w.idle()
	w.ended(blockBytes, now.Add(time.Second), true)
	require.False(t, w.pace().Bound, "one end is no interval")
}

// TestRandomDataIsOnlySampled checks data that do not get shorter. The packer must seldom measure the
// path, must compress only a sample for each measurement, and must send all blocks unchanged.
func TestRandomDataIsOnlySampled(t *testing.T) {
	for name, limits := range map[string]packing.Limits{"way": wayLimits, "files": fileLimits} {
		block := make([]byte, blockBytes)
		for i := range block {
			block[i] = byte(rand.Uint32())
		}
		looks := 0
		p := packer{Decider: packing.New(packing.Auto, limits), look: func() packing.Pace { looks++; return packing.Pace{Rate: 1e6, Bound: true} }}
		var room []byte
		const count = 4096 // 1 GiB in all
		for range count {
			p.Block()
			require.Len(t, p.pack(block, &room), blockBytes)
			require.False(t, p.On())
		}
		require.EqualValues(t, count*blockBytes, p.to.Load())
		require.Nil(t, room, "no whole block was tried")
		require.Less(t, looks, count/100, name)
		require.Positive(t, looks)
	}
}

// TestABlockIsTriedWhole checks that a block is sent unchanged if only its middle gets shorter.
func TestABlockIsTriedWhole(t *testing.T) {
	block := make([]byte, blockBytes)
	for i := range block {
		if i < blockBytes/2-16<<10 || i >= blockBytes/2+16<<10 {
			block[i] = byte(rand.Uint32())
		}
	}
	p := packer{Decider: packing.New(packing.Auto, wayLimits), look: func() packing.Pace { return packing.Pace{Rate: 1e4, Bound: true} }}
	var room []byte
	for range 10 {
		p.Block()
		require.Len(t, p.pack(block, &room), blockBytes)
	}
	require.True(t, room != nil, "it was tried")
}

// TestSlowKeeper checks a keeper that takes some milliseconds for a block. After the first
// blocks, data that get shorter must be compressed. On a busy machine the compression can be as slow as
// the keeper while both are measured, and then the blocks are rightly sent as they are. Therefore the
// test makes some attempts.
func TestSlowKeeper(t *testing.T) {
	image := writeImage(nil, 3, 2, 0, []Part{Slice(make([]byte, 64*blockBytes))})
	var s *Store
	for range 5 {
		if s = deliverSlowly(t, image); s.Volume().SentAs < s.Volume().Sent/2 {
			break
		}
	}
	v := s.Volume()
	require.EqualValues(t, len(image), v.Sent)
	require.Less(t, v.SentAs, v.Sent/2)
	require.Greater(t, v.SentAs, int64(windowBlocks*blockBytes), "it was measured first")
	require.Len(t, s.Explain(), 1)
}

// deliverSlowly delivers an image to a keeper that takes 3 ms or more for each of its 67 messages, and returns
// the Store of the sender.
func deliverSlowly(t *testing.T, image []byte) *Store {
	t.Helper()
	s, err := New(Config{})
	require.NoError(t, err)
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		if w.Rank() == 0 {
			return s.deliver(w.Comm(), 1, image, 3)
		}
		if _, err := runtime.Recv(w.Comm(), make([]int, headWords), 0, tagHead); err != nil {
			return err
		}
		for range 67 {
			if _, err := runtime.Recv(w.Comm(), make([]byte, blockBytes), 0, tagImage); err != nil {
				return err
			}
			time.Sleep(3 * time.Millisecond) // simulates a slow path
		}
		return nil
	}))
	return s
}

// TestFileOnAnUnknownDisk checks that a file is compressed although the rate of the disk is
// unknown, if compression makes the file four times shorter.
func TestFileOnAnUnknownDisk(t *testing.T) {
	s, err := New(Config{})
	require.NoError(t, err)
	var room []byte
	for range 16 {
		s.filed.Block()
		s.filed.pack(make([]byte, blockBytes), &room)
	}
	require.Less(t, s.filed.to.Load(), s.filed.from.Load()/2)
}

// TestBlocksUnderWay checks that the memory of a compressed block does not change while the block
// may be in transit.
func TestBlocksUnderWay(t *testing.T) {
	image := make([]byte, 40*blockBytes)
	for i := range image {
		image[i] = byte(i / blockBytes)
	}
	var sent, were [][]byte
	p := packer{Decider: packing.New(packing.Always, wayLimits)}
	require.NoError(t, stream(&p, new(rooms), nil, image, func(block []byte) error {
		sent, were = append(sent, block), append(were, bytes.Clone(block))
		for i := max(0, len(sent)-windowBlocks-1); i < len(sent); i++ {
			require.Equal(t, were[i], sent[i], "block %d at %d", i, len(sent))
		}
		return nil
	}))
	require.Len(t, sent, 42)
}

package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFramesOfAFlood checks that no more than maxSpareRecords frames are kept after a flood, and that these are used
// again.
func TestFramesOfAFlood(t *testing.T) {
	var s spareMemory
	flood := make([]*frame, 3*maxSpareRecords)
	for i := range flood {
		flood[i] = s.frames.get()
	}
	for _, f := range flood {
		s.frames.put(f)
	}
	require.Len(t, s.frames, maxSpareRecords)
	for range 2 {
		for range maxSpareRecords {
			s.frames.put(s.frames.get())
		}
		for i := range maxSpareRecords {
			flood[i] = s.frames.get()
		}
		require.Empty(t, s.frames)
		for i := range maxSpareRecords {
			s.frames.put(flood[i])
		}
	}
}

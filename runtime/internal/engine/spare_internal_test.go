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
		flood[i] = s.frame()
	}
	for _, f := range flood {
		s.dropFrame(f)
	}
	kept := 0
	for f := s.frames; f != nil; f = f.next {
		kept++
	}
	require.Equal(t, maxSpareRecords, kept)
	for range 2 {
		for range maxSpareRecords {
			s.dropFrame(s.frame())
		}
		for i := range maxSpareRecords {
			flood[i] = s.frame()
		}
		require.Nil(t, s.frames)
		for i := range maxSpareRecords {
			s.dropFrame(flood[i])
		}
	}
}

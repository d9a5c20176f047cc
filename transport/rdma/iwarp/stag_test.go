package iwarp_test

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

const (
	// stagsDrawn is the number of registrations that the bits are counted over. A count of
	// fair bits has the standard deviation 32 (half the root), one of rises less.
	stagsDrawn = 4096
	// tenDeviations is how far a count may be off: random STags fail with less than 1e-20.
	tenDeviations = 10 * 32
)

// drawSTags registers memory stagsDrawn times with one adapter.
func drawSTags(t *testing.T) []uint32 {
	t.Helper()
	s := newSide(t, iwarp.Config{}, 1)
	stags := make([]uint32, stagsDrawn)
	for i := range stags {
		m, err := s.domain.Register(s.memory, verbs.AccessLocalWrite)
		require.NoError(t, err)
		stags[i] = m.LKey()
		require.Equal(t, m.LKey(), m.Remote(0, 1).RKey)
	}
	return stags
}

// TestSTagsAreUnpredictable: no bit has a value, no bit follows from the STag before, the
// order says nothing, and another adapter draws others.
func TestSTagsAreUnpredictable(t *testing.T) {
	stags := drawSTags(t)
	used, rises := map[uint32]bool{}, 0
	var ones, changes [32]int
	for i, stag := range stags {
		require.NotZero(t, stag)
		require.False(t, used[stag], "%#x names two regions", stag)
		used[stag] = true
		before := stags[(i+stagsDrawn-1)%stagsDrawn]
		if stag > before {
			rises++
		}
		for bit := range 32 {
			ones[bit] += int(stag >> bit & 1)
			changes[bit] += int((stag ^ before) >> bit & 1)
		}
	}
	for bit := range 32 {
		require.InDelta(t, stagsDrawn/2, ones[bit], tenDeviations, "ones in bit %d", bit)
		require.InDelta(t, stagsDrawn/2, changes[bit], tenDeviations, "changes of bit %d", bit)
	}
	require.InDelta(t, stagsDrawn/2, rises, tenDeviations, "STags in rising order")

	// Sequences that are the same or shifted share nearly all, random ones none.
	shared := 0
	for _, stag := range drawSTags(t) {
		if used[stag] {
			shared++
		}
	}
	require.Less(t, shared, 8)
}

// TestSTagsThatComeAgain registers and closes: what is used next is not near what was used
// last. A slot that is used again would keep its bits.
func TestSTagsThatComeAgain(t *testing.T) {
	s := newSide(t, iwarp.Config{}, 1)
	var last uint32
	distance := 0
	for range stagsDrawn {
		m, err := s.domain.Register(s.memory, verbs.AccessLocalWrite)
		require.NoError(t, err)
		distance += bits.OnesCount32(m.LKey() ^ last)
		last = m.LKey()
		require.NoError(t, m.Close())
	}
	require.InDelta(t, 16, float64(distance)/stagsDrawn, 1, "bits that differ")
}

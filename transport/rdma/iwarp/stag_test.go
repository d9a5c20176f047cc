package iwarp_test

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

const (
	// stagsDrawn is the number of registrations whose STags the test compares. If a bit is random, the number of
	// STags in which it is 1 has a standard deviation of 32, half the square root of stagsDrawn. The number of
	// STags that are greater than the preceding STag has a smaller standard deviation.
	stagsDrawn = 4096
	// tenDeviations is the largest permitted deviation of a count. Random STags exceed it with a probability
	// below 1e-20.
	tenDeviations = 10 * 32
)

// drawSTags registers memory stagsDrawn times with one adapter and returns the STags.
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

// TestSTagsAreUnpredictable checks statistically that no bit of an STag has a fixed value or depends on the
// preceding STag, and that STags do not rise or fall steadily. It also checks that another adapter draws other
// STags.
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

	// Two equal or shifted sequences would share nearly all STags. Two random sequences share almost none.
	shared := 0
	for _, stag := range drawSTags(t) {
		if used[stag] {
			shared++
		}
	}
	require.Less(t, shared, 8)
}

// TestSTagsThatComeAgain registers and closes memory repeatedly. The test checks that an STag differs from the
// preceding one in about 16 bits on average. Suppose that an STag contained the index of a table entry, and that
// the provider used the entry of a closed region again. The two STags would then have the bits of the index in
// common.
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

package bootstrap_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// ReadRanks returns the set of ranks that AppendRanks has encoded. It refuses an encoding that is truncated
// or has a rank out of range. The encoding is short for sparse, dense and random sets.
func TestSetsOfRanks(t *testing.T) {
	const n = 5000
	random := rand.New(rand.NewPCG(1, 2))
	sets := map[string][]int{"none": nil, "all": nil, "even": nil, "one": {0}, "last": {0, n - 1}, "random": {0}}
	longest := map[string]int{"none": 2, "all": 5, "even": n/8 + 4, "one": 4, "last": 8, "random": n/8 + 4}
	for rank := range n {
		sets["all"] = append(sets["all"], rank)
		if rank%2 == 0 {
			sets["even"] = append(sets["even"], rank)
		}
		if rank > 0 && random.IntN(10) == 0 {
			sets["random"] = append(sets["random"], rank)
		}
	}
	for name, ranks := range sets {
		b := bootstrap.AppendRanks(nil, ranks)
		require.LessOrEqual(t, len(b), longest[name], name)
		got, ok := bootstrap.ReadRanks(b, n)
		require.True(t, ok, name)
		require.Equal(t, ranks, got, name)
		if len(ranks) > 0 {
			_, ok = bootstrap.ReadRanks(b, ranks[len(ranks)-1])
			require.False(t, ok, name)
			_, ok = bootstrap.ReadRanks(b[:len(b)-1], n)
			require.False(t, ok, name)
		}
	}
}

// TestARankVotesOnce checks that ParsePoll refuses a poll in which a rank has two ballots, because the
// Council would count the rank twice. It also refuses the ballot of a rank that is not a member.
func TestARankVotesOnce(t *testing.T) {
	v := bootstrap.Vote{Comm: 1, Round: 1, Members: []int{0, 1, 3}, Purpose: bootstrap.PurposeFlags}
	require.NoError(t, bootstrap.ParsePoll(bootstrap.PollOfTwo(0, 3, v), 4))
	require.ErrorIs(t, bootstrap.ParsePoll(bootstrap.PollOfTwo(3, 3, v), 4), bootstrap.ErrMalformed)
	require.ErrorIs(t, bootstrap.ParsePoll(bootstrap.PollOfTwo(0, 2, v), 4), bootstrap.ErrMalformed) // not a member
}

// FuzzPoll checks that no input makes the parser of votes panic.
func FuzzPoll(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 3, 1, 0, 1, 0, 0, 1, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(_ *testing.T, b []byte) { _ = bootstrap.ParsePoll(b, 4) })
}

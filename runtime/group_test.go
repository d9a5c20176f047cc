package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// worldGroup returns the group of a World of n ranks.
func worldGroup(t *testing.T, n int) runtime.Group {
	t.Helper()
	groups := make([]runtime.Group, n)
	local(t, n, func(c *runtime.Comm) { groups[c.Rank()] = c.Group() })
	return groups[0]
}

func include(t *testing.T, g runtime.Group, ranks ...int) runtime.Group {
	t.Helper()
	sub, err := g.Include(ranks...)
	require.NoError(t, err)
	return sub
}

// Union, intersection, difference, exclusion and comparison of groups give the right ranks in the
// right order (MPICH's group/grouptest2.c and group/groupnullincl.c).
func TestGroupSetOperations(t *testing.T) {
	world := worldGroup(t, 8)
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7}, world.Ranks())
	odd, low := include(t, world, 7, 5, 3, 1), include(t, world, 0, 1, 2, 3)
	for name, c := range map[string]struct{ got, want []int }{
		"union":                {odd.Union(low).Ranks(), []int{7, 5, 3, 1, 0, 2}},
		"intersection":         {odd.Intersection(low).Ranks(), []int{3, 1}},
		"difference":           {odd.Difference(low).Ranks(), []int{7, 5}},
		"union with none":      {odd.Union(runtime.Group{}).Ranks(), []int{7, 5, 3, 1}},
		"difference with self": {odd.Difference(odd).Ranks(), nil},
	} {
		require.Equal(t, c.want, c.got, name)
	}
	without, err := world.Exclude(0, 2, 4, 6)
	require.NoError(t, err)
	require.Equal(t, []int{1, 3, 5, 7}, without.Ranks())
	require.Equal(t, runtime.Similar, without.Compare(odd))
	require.Equal(t, runtime.Identical, without.Compare(include(t, world, 1, 3, 5, 7)))
	require.Equal(t, runtime.Unequal, without.Compare(low))
	require.Equal(t, runtime.Identical, include(t, world).Compare(runtime.Group{}), "two empty groups")
	require.Equal(t, "similar", runtime.Similar.String())
}

// Translate and the queries of a group return the right ranks, and Undefined for others (MPICH's
// group/gtranks.c).
func TestGroupTranslate(t *testing.T) {
	world := worldGroup(t, 6)
	even := include(t, world, 4, 2, 0)
	got, err := world.Translate([]int{0, 1, 2, runtime.ProcNull, 4}, even)
	require.NoError(t, err)
	require.Equal(t, []int{2, runtime.Undefined, 1, runtime.ProcNull, 0}, got)
	_, err = world.Translate([]int{6}, even)
	require.ErrorIs(t, err, runtime.ErrRank)
	require.Equal(t, 1, even.Rank(2))
	require.Equal(t, runtime.Undefined, even.Rank(3))
	require.Equal(t, 4, even.WorldRank(0))
	require.Equal(t, runtime.Undefined, even.WorldRank(3))
	require.Equal(t, 3, even.Size())
}

// Include and Exclude refuse ranks outside the group and repeated ranks.
func TestGroupRefusesWrongRanks(t *testing.T) {
	world := worldGroup(t, 3)
	for _, ranks := range [][]int{{3}, {-1}, {0, 0}} {
		_, err := world.Include(ranks...)
		require.ErrorIs(t, err, runtime.ErrRank)
		_, err = world.Exclude(ranks...)
		require.ErrorIs(t, err, runtime.ErrRank)
	}
}

// A group is not changed by a change of the slice that Ranks returns, nor by set operations.
func TestGroupNeverChanges(t *testing.T) {
	world := worldGroup(t, 3)
	world.Ranks()[0] = 9
	_ = world.Union(include(t, world, 2))
	require.Equal(t, []int{0, 1, 2}, world.Ranks())
}

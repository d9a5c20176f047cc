package ranges_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/ranges"
)

// few holds the limits of the tests.
var few = ranges.Limits{Below: 100, Count: 10}

func TestParse(t *testing.T) {
	ascending := few
	ascending.Ascending = true
	for text, want := range map[string][]int{
		"0": {0}, "3": {3}, "99": {99}, "0-2": {0, 1, 2}, "0-1,4,6-7": {0, 1, 4, 6, 7}, "007-8": {7, 8}, "0-9": {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, "5-5": {5},
	} {
		for _, l := range []ranges.Limits{few, ascending} {
			got, err := ranges.Parse(text, l)
			require.NoError(t, err, text)
			require.Equal(t, want, got, text)
		}
	}
	got, err := ranges.Parse("3,0-1,1", few)
	require.NoError(t, err)
	require.Equal(t, []int{3, 0, 1, 1}, got)
	for text, want := range map[string]string{
		"": "neither", "x": "neither", "1-": "neither", "-1": "neither", "-": "neither", "1--2": "neither", "+1": "neither", "1-+2": "neither", "2-1": "neither", "1,,2": "neither",
		"1,": "neither", ",1": "neither", "0x1": "neither", "1_0": "neither", "1 2": "neither", "1\n": "neither", "1-2-3": "neither", "99999999999999999999": "neither",
		"100": "below 100", "0-100": "below 100", "9223372036854775807": "below 100",
		"1,1": "after 1", "3,0-1": "after 3", "0-4,4": "after 4",
		"0-10": "too many", "0-4,5-10": "too many", "0-9,10": "too many",
	} {
		_, err := ranges.Parse(text, ascending)
		require.ErrorContains(t, err, want, text)
		require.Equal(t, want == "too many", strings.Contains(err.Error(), ranges.ErrTooMany.Error()))
	}
	_, err = ranges.Parse("0-10", few)
	require.ErrorIs(t, err, ranges.ErrTooMany)
}

func TestSplitKeepsWhatWasWritten(t *testing.T) {
	got, err := ranges.Split("007-12,5", few)
	require.NoError(t, err)
	require.Equal(t, []ranges.Range{{Low: 7, High: 12, Digits: 3}, {Low: 5, High: 5, Digits: 1}}, got)
}

func TestFormat(t *testing.T) {
	for want, numbers := range map[string][]int{"": nil, "3": {3}, "0-1": {0, 1}, "0,2-4,9": {0, 2, 3, 4, 9}} {
		require.Equal(t, want, ranges.Format(numbers))
	}
}

// naive parses a list in which every number is separate. It returns nil if the text is not such a
// list.
func naive(text string) []int {
	var all []int
	for _, word := range strings.Split(text, ",") {
		n, err := strconv.ParseUint(word, 10, 31)
		if err != nil {
			return nil
		}
		all = append(all, int(n))
	}
	return all
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"0-3,8", "0-3,8\n", "0-", "3-1", "1,2,3", "007-12", "0-99999999999999999999", "1,,2", "-1", "+1", "9-10,3", "0-9,10"} {
		for n := range len(text) + 1 {
			f.Add(text[:n], uint16(100), uint8(10), true)
		}
		f.Add(text, uint16(5), uint8(200), false)
	}
	f.Fuzz(func(t *testing.T, text string, below uint16, count uint8, ascending bool) {
		l := ranges.Limits{Below: int(below), Count: int(count), Ascending: ascending}
		got, err := ranges.Parse(text, l)
		if plain := naive(text); err != nil && plain != nil {
			tooBig := slices.ContainsFunc(plain, func(n int) bool { return n >= l.Below })
			unordered := ascending && !slices.IsSortedFunc(plain, func(a, b int) int { return a - b - 1 })
			require.True(t, tooBig || unordered || len(plain) > l.Count, "%q: %v", text, err)
		}
		if err != nil {
			require.Nil(t, got)
			return
		}
		require.NotEmpty(t, got)
		require.LessOrEqual(t, len(got), l.Count)
		for i, n := range got {
			require.True(t, n >= 0 && n < l.Below && (i == 0 || !ascending || n > got[i-1]), "%q: %v", text, got)
		}
		if plain := naive(text); plain != nil {
			require.Equal(t, plain, got)
		}
		slices.Sort(got)
		got = slices.Compact(got)
		again, err := ranges.Parse(ranges.Format(got), ranges.Limits{Below: l.Below, Count: l.Count, Ascending: true})
		require.NoError(t, err)
		require.Equal(t, got, again)
	})
}

package placement_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

// two is a machine with two NUMA nodes of 4 and 2 processors.
var two = []placement.Domain{{Node: 0, Processors: []int{0, 1, 2, 3}}, {Node: 2, Processors: []int{8, 9}}}

// Bind assigns each rank its processors, its NUMA node and its share of the processors.
func TestBind(t *testing.T) {
	for _, c := range []struct {
		kind  placement.Kind
		ranks int
		want  []string // for each rank: processors/node/share
	}{
		{placement.None, 0, nil},
		{placement.Core, 0, nil},
		{placement.NUMA, 0, nil},
		{placement.None, 2, []string{"[0 1 2 3 8 9]/-1/3", "[0 1 2 3 8 9]/-1/3"}},
		{placement.Core, 2, []string{"[0]/-1/1", "[1]/-1/1"}},
		{placement.Core, 6, []string{"[0]/-1/1", "[1]/-1/1", "[2]/-1/1", "[3]/-1/1", "[8]/-1/1", "[9]/-1/1"}},
		{placement.Core, 7, []string{"[0]/-1/1", "[0]/-1/1", "[1]/-1/1", "[2]/-1/1", "[3]/-1/1", "[8]/-1/1", "[9]/-1/1"}},
		{placement.NUMA, 1, []string{"[0 1 2 3]/0/4"}},
		{placement.NUMA, 2, []string{"[0 1 2 3]/0/2", "[0 1 2 3]/0/2"}},
		{placement.NUMA, 3, []string{"[0 1 2 3]/0/2", "[0 1 2 3]/0/2", "[8 9]/2/2"}},
		{placement.NUMA, 6, []string{"[0 1 2 3]/0/1", "[0 1 2 3]/0/1", "[0 1 2 3]/0/1", "[0 1 2 3]/0/1", "[8 9]/2/1", "[8 9]/2/1"}},
	} {
		got, err := placement.Bind(c.kind, two, c.ranks)
		require.NoError(t, err)
		var shown []string
		for _, b := range got {
			shown = append(shown, fmt.Sprintf("%v/%d/%d", b.Processors, b.Node, b.Share))
		}
		require.Equal(t, c.want, shown, "%s, %d ranks", c.kind, c.ranks)
	}
	_, err := placement.Bind("socket", two, 1)
	require.Error(t, err)
	_, err = placement.Bind(placement.Core, nil, 1)
	require.Error(t, err)
}

// Machine returns the processors that may be used, by NUMA node. Processors without a known node form node
// -1.
func TestMachine(t *testing.T) {
	nodes := map[int][]int{0: {0, 1}, 1: {2, 3}, 5: {4}}
	for _, c := range []struct {
		nodes   map[int][]int
		allowed []int
		want    []placement.Domain
	}{
		{nodes, []int{0, 1, 2, 3, 4}, []placement.Domain{{Node: 0, Processors: []int{0, 1}}, {Node: 1, Processors: []int{2, 3}}, {Node: 5, Processors: []int{4}}}},
		{nodes, []int{1, 3}, []placement.Domain{{Node: 0, Processors: []int{1}}, {Node: 1, Processors: []int{3}}}},
		{nodes, []int{3, 7}, []placement.Domain{{Node: 1, Processors: []int{3}}, {Node: -1, Processors: []int{7}}}},
		{nil, []int{0, 1}, []placement.Domain{{Node: -1, Processors: []int{0, 1}}}},
	} {
		require.Equal(t, c.want, placement.Machine(c.nodes, c.allowed))
	}
}

// ParseList parses the kernel's lists of ascending numbers and ranges.
func TestLists(t *testing.T) {
	for text, want := range map[string][]int{"": nil, "\n": nil, "3": {3}, "0-2\n": {0, 1, 2}, "0-1,4,6-7": {0, 1, 4, 6, 7}} {
		got, err := placement.ParseList(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"x", "1-", "-1", "2-1", "1,1", "3,0-1", "0-99999", "1,,2", "0x1"} {
		_, err := placement.ParseList(text)
		require.ErrorContains(t, err, "in a list of numbers", text)
	}
}

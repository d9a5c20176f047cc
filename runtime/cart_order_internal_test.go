package runtime

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// nodesOf returns the nodes of ranks that are placed in blocks or round-robin.
func nodesOf(ranks, nodes int, inTurn bool) []uint64 {
	list := make([]uint64, ranks)
	for rank := range list {
		list[rank] = uint64(rank * nodes / ranks)
		if inTurn {
			list[rank] = uint64(rank % nodes)
		}
	}
	return list
}

// Reordering never increases the number of pairs of neighbors on different nodes. If the grid can be
// divided into one block for each node, reordering reaches the lowest possible number.
func TestReorderPays(t *testing.T) {
	for _, c := range []struct {
		dims   []int
		period bool
		nodes  int
		inTurn bool
		before int // pairs of neighbors on different nodes
		after  int
	}{
		{[]int{4, 4}, false, 4, false, 12, 8},
		{[]int{4, 4}, true, 4, false, 16, 16},
		{[]int{8, 8}, false, 4, false, 24, 16},
		{[]int{8, 8}, false, 4, true, 56, 16},
		{[]int{4, 4, 4}, false, 8, false, 64, 48},
		{[]int{4, 4, 4}, false, 8, true, 96, 48},
		{[]int{16}, true, 4, true, 16, 4},
		{[]int{3, 5}, false, 15, false, 22, 22},
		{[]int{6, 4}, false, 1, false, 0, 0},
		{[]int{2, 8}, false, 2, false, 8, 2},
	} {
		periods := make([]bool, len(c.dims))
		for i := range periods {
			periods[i] = c.period
		}
		g, err := newGrid(c.dims, periods)
		require.NoError(t, err)
		nodes := nodesOf(g.points(), c.nodes, c.inTurn)
		require.Equal(t, c.before, g.cuts(identityOrder(g.points()), nodes), "%+v", c)
		order := g.place(nodes)
		require.Equal(t, c.after, g.cuts(order, nodes), "%+v", c)
	}
}

// With any placement, reordering is a permutation of the ranks, and does not increase the number of
// pairs of neighbors on different nodes.
func TestReorderIsAnOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		dims := make([]int, 1+random.IntN(4))
		for i := range dims {
			dims[i] = 1 + random.IntN(4)
		}
		g, err := newGrid(dims, make([]bool, len(dims)))
		require.NoError(t, err)
		nodes := make([]uint64, g.points()+random.IntN(3))
		for i := range nodes {
			nodes[i] = random.Uint64N(1 + uint64(len(nodes))/2)
		}
		order := g.place(nodes)
		require.LessOrEqual(t, g.cuts(order, nodes), g.cuts(identityOrder(g.points()), nodes))
		slices.Sort(order)
		require.Equal(t, identityOrder(g.points()), order)
	}
}

// A graph is a ring of 12 edges. After reordering, at most 6 of these edges are between nodes, whether
// ranks are placed in blocks or round-robin. Without reordering, more edges are between nodes.
func TestVerticesAreReordered(t *testing.T) {
	const n = 12
	ring := make([]vertex, n)
	for v := range ring { // the ring is 0, 5, 10, 3, ...
		to := (v + 5) % n
		ring[v].dests, ring[to].sources = []int{to}, []int{v}
	}
	for _, inTurn := range []bool{false, true} {
		nodes := nodesOf(n, 3, inTurn)
		order := placeVertices(ring, nodes)
		require.LessOrEqual(t, cutWeight(ring, order, nodes), 6)
		require.Greater(t, cutWeight(ring, identityOrder(n), nodes), 6)
		sorted := slices.Clone(order)
		slices.Sort(sorted)
		require.Equal(t, identityOrder(n), sorted)
	}
	// An edge between nodes counts with its weight, and an order that cannot be improved is kept.
	pair := []vertex{{dests: []int{1, 2}, destWeights: []int{1, 9}}, {}, {sources: []int{0}}, {}}
	require.Equal(t, 9, cutWeight(pair, identityOrder(4), nodesOf(4, 2, false)))
	require.Equal(t, identityOrder(4), placeVertices(pair, nodesOf(4, 1, false)))
	require.Equal(t, identityOrder(4), placeVertices(make([]vertex, 4), nodesOf(4, 2, true)))
}

// A vertex that is encoded in words and decoded is unchanged. Its lists may be empty or nil.
func TestVertexWords(t *testing.T) {
	for _, v := range []vertex{
		{}, {sources: []int{}, dests: []int{3}}, {[]int{1, 2}, []int{3, 4}, []int{5}, []int{0}}, {nil, nil, []int{7, 7}, []int{1, 2}},
	} {
		c := &Comm{size: 8}
		got, node, err := c.vertexOf(append(v.words(), 42))
		require.NoError(t, err)
		require.EqualValues(t, 42, node)
		require.Equal(t, v, got)
	}
}

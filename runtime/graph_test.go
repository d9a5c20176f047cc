package runtime_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// edge is one edge of a graph; by is the rank that passes it to CreateGraph.
type edge struct{ from, to, weight, by int }

// randomEdges returns a random graph, in which edges may appear twice or lead from a rank to
// itself.
func randomEdges(r *rand.Rand, ranks int) []edge {
	list := make([]edge, r.IntN(4*ranks))
	for i := range list {
		list[i] = edge{r.IntN(ranks), r.IntN(ranks), r.IntN(9), r.IntN(ranks)}
		if i > 0 && r.IntN(4) == 0 {
			list[i] = list[i-1]
		}
	}
	return list
}

// ends returns the edges of one rank, in the order of the list.
func ends(list []edge, rank int) (sources, sourceWeights, dests, destWeights []int) {
	sources, sourceWeights, dests, destWeights = []int{}, []int{}, []int{}, []int{}
	for _, e := range list {
		if e.to == rank {
			sources, sourceWeights = append(sources, e.from), append(sourceWeights, e.weight)
		}
		if e.from == rank {
			dests, destWeights = append(dests, e.to), append(destWeights, e.weight)
		}
	}
	return sources, sourceWeights, dests, destWeights
}

// requireVertex checks the edges that a rank gets from Neighbors and Weights. It does not check the
// order of the weights.
func requireVertex(t *testing.T, list []edge, g *runtime.Graph, weighted bool) {
	t.Helper()
	sources, sourceWeights, dests, destWeights := ends(list, g.Rank())
	gotSources, gotDests, err := g.Neighbors()
	require.NoError(t, err)
	require.ElementsMatch(t, sources, gotSources)
	require.ElementsMatch(t, dests, gotDests)
	if len(sources)*len(dests) > 0 {
		require.Equal(t, sources, gotSources)
		require.Equal(t, dests, gotDests)
	}
	gotSourceWeights, gotDestWeights := g.Weights()
	if !weighted {
		require.Nil(t, gotSourceWeights)
		require.Nil(t, gotDestWeights)
		return
	}
	require.ElementsMatch(t, sourceWeights, gotSourceWeights)
	require.ElementsMatch(t, destWeights, gotDestWeights)
}

// CreateGraphAdjacent, in which each rank passes its own edges, and CreateGraph, in which any rank
// passes any edges, make the same graph, with and without weights (MPICH's topo/distgraph1.c).
func TestGraphsOfBothForms(t *testing.T) {
	for _, ranks := range []int{1, 2, 5, 8} {
		local(t, ranks, func(c *runtime.Comm) {
			same := rand.New(rand.NewPCG(uint64(ranks), 1))
			for range 12 {
				list := randomEdges(same, ranks)
				// CreateGraph orders edges by the rank that passes them.
				var sorted []edge
				for by := range ranks {
					for _, e := range list {
						if e.by == by {
							sorted = append(sorted, e)
						}
					}
				}
				weighted, reorder := same.IntN(2) == 0, same.IntN(2) == 0
				sources, sourceWeights, dests, destWeights := ends(list, c.Rank())
				var froms, degrees, tos, weights []int
				for _, e := range list {
					if e.by == c.Rank() {
						froms, degrees, tos, weights = append(froms, e.from), append(degrees, 1), append(tos, e.to), append(weights, e.weight)
					}
				}
				if weighted && weights == nil {
					weights = []int{}
				}
				if !weighted {
					sourceWeights, destWeights, weights = nil, nil, nil
				}
				adjacent, err := c.CreateGraphAdjacent(sources, sourceWeights, dests, destWeights, reorder)
				require.NoError(t, err)
				requireVertex(t, list, adjacent, weighted)
				general, err := c.CreateGraph(froms, degrees, tos, weights, reorder)
				require.NoError(t, err)
				requireVertex(t, sorted, general, weighted)
				require.Equal(t, ranks, general.Size())
				require.NoError(t, adjacent.Close())
				require.NoError(t, general.Close())
			}
		})
	}
}

// Ranks without edges, and an edge that appears twice, are allowed (MPICH's topo/graphcr2.c).
func TestGraphWithoutEdges(t *testing.T) {
	local(t, 3, func(c *runtime.Comm) {
		g, err := c.CreateGraphAdjacent(nil, nil, nil, nil, true)
		require.NoError(t, err)
		sources, dests, err := g.WithContext(t.Context()).Neighbors()
		require.NoError(t, err)
		require.Empty(t, sources)
		require.Empty(t, dests)
		twice, err := c.CreateGraph([]int{0, 0}, []int{1, 1}, []int{2, 2}, nil, false)
		require.NoError(t, err)
		sources, dests, err = twice.Neighbors()
		require.NoError(t, err)
		require.Len(t, append(sources, dests...), []int{6, 0, 6}[c.Rank()])
	})
}

// Wrong edges, weights and degrees are refused.
func TestGraphArguments(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		one := []int{1}
		for name, check := range map[string]struct {
			err, want error
		}{
			"a source too high":           {second(c.CreateGraphAdjacent([]int{2}, nil, nil, nil, false)), runtime.ErrRank},
			"a negative destination":      {second(c.CreateGraphAdjacent(nil, nil, []int{-1}, nil, false)), runtime.ErrRank},
			"ProcNull":                    {second(c.CreateGraphAdjacent([]int{runtime.ProcNull}, nil, nil, nil, false)), runtime.ErrRank},
			"a weight too many":           {second(c.CreateGraphAdjacent(one, []int{1, 1}, nil, nil, false)), runtime.ErrArgument},
			"a weight too few":            {second(c.CreateGraphAdjacent(nil, nil, one, []int{}, false)), runtime.ErrArgument},
			"a negative weight":           {second(c.CreateGraphAdjacent(nil, nil, one, []int{-1}, false)), runtime.ErrArgument},
			"a degree too few":            {second(c.CreateGraph(one, nil, one, nil, false)), runtime.ErrArgument},
			"a degree too high":           {second(c.CreateGraph(one, []int{2}, one, nil, false)), runtime.ErrArgument},
			"a negative degree":           {second(c.CreateGraph([]int{0, 1}, []int{-1, 2}, one, nil, false)), runtime.ErrArgument},
			"a destination too many":      {second(c.CreateGraph(one, []int{1}, []int{0, 0}, nil, false)), runtime.ErrArgument},
			"a source that is none":       {second(c.CreateGraph([]int{7}, []int{1}, one, nil, false)), runtime.ErrRank},
			"a destination that is none":  {second(c.CreateGraph(one, []int{1}, []int{7}, nil, false)), runtime.ErrRank},
			"weights of another length":   {second(c.CreateGraph(one, []int{1}, one, []int{}, false)), runtime.ErrArgument},
			"edges at one member alone":   {second(c.CreateGraphAdjacent(nil, nil, []int{5 * c.Rank()}, nil, false)), []error{runtime.ErrArgument, runtime.ErrRank}[c.Rank()]},
			"degrees at one member alone": {second(c.CreateGraph(one[:c.Rank()], []int{2}[:c.Rank()], one[:c.Rank()], nil, false)), runtime.ErrArgument},
			"no communicator":             {second((*runtime.Comm)(nil).CreateGraph(nil, nil, nil, nil, false)), runtime.ErrComm},
			"no communicator, adjacent":   {second((*runtime.Comm)(nil).CreateGraphAdjacent(nil, nil, nil, nil, false)), runtime.ErrComm},
			"a reorder that differs":      {second(c.CreateGraphAdjacent(nil, nil, nil, nil, c.Rank() == 0)), runtime.ErrArgument},
			"weights at one member alone": {second(c.CreateGraph(nil, nil, nil, map[int][]int{0: {}}[c.Rank()], false)), runtime.ErrArgument},
		} {
			require.ErrorIs(t, check.err, check.want, name)
		}
	})
}

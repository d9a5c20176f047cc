package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/simulation"
)

// TestFit predicts times with one model, and fits another model to these times. The fitted model must predict
// about the same times. It must also predict times of another operation, some of them for a number of ranks
// to which it was not fitted. The model from which the search begins must stay as it is.
func TestFit(t *testing.T) {
	node := simulation.Level{
		{Most: 4096, Latency: 200, Overhead: 100, SendPerByte: 0.1, RecvPerByte: 0.2},
		{Latency: 300, Overhead: 150, RecvPerByte: 0.05, Rendezvous: true, Handshake: 900},
	}
	truth := simulation.Model{
		RanksPerNode: 64, Processors: 2, Network: simulation.Level{{}}, Node: node,
		Processor: simulation.Level{{Overhead: 130, SendPerByte: 0.05}},
		Call:      70, Combine: 0.3, Copy: 0.02, Visit: 700, VisitPerRank: 40,
	}
	rows := func(operation, algorithm string, ranks ...int) (all []observation) {
		for _, n := range ranks {
			for _, bytes := range []int{8, 1 << 10, 16 << 10, 256 << 10} {
				u := simulation.Run{Operation: operation, Algorithm: algorithm, Ranks: n, Bytes: bytes, Model: truth}
				res, err := u.Predict()
				require.NoError(t, err)
				all = append(all, observation{u, res.Mean.Seconds() * 1e6})
			}
		}
		return all
	}
	start := truth
	start.Node = simulation.Level{
		{Most: 4096, Latency: 100, Overhead: 300, SendPerByte: 0.3, RecvPerByte: 0.3},
		{Latency: 100, Overhead: 300, RecvPerByte: 0.3, Rendezvous: true, Handshake: 300},
	}
	start.Processor = simulation.Level{{Overhead: 300, SendPerByte: 0.3}}
	start.Call, start.Combine, start.Copy, start.Visit, start.VisitPerRank = 200, 0.1, 0.1, 200, 100
	before := start.Node[0]
	trained := append(rows("allgather", "ring", 2, 4, 8), rows("scan", "recursive-doubling", 2, 4, 8)...)
	fitted, d, err := fit(start, trained, 500)
	require.NoError(t, err)
	require.Less(t, d, 0.03)
	require.Equal(t, before, start.Node[0])
	others, err := deviation(fitted, rows("allreduce", "ring", 2, 16))
	require.NoError(t, err)
	require.Less(t, others, 0.1)
	_, _, err = fit(simulation.Model{}, trained, 100)
	require.ErrorIs(t, err, simulation.ErrModel)
}

package simulation_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/simulation"
)

// run returns a Run with valid fields.
func run() simulation.Run {
	level := simulation.Level{{Latency: 1000, PerByte: 0.5}}
	return simulation.Run{
		Operation: "allreduce", Algorithm: "rabenseifner", Ranks: 1 << 9, Bytes: 1 << 20,
		Model: simulation.Model{Network: level, Combine: 0.25},
	}
}

// Predict returns the cost that the comment at the head of the algorithm's file states.
func TestPredict(t *testing.T) {
	u := run()
	res, err := u.Predict()
	require.NoError(t, err)
	p, n := float64(u.Ranks), float64(u.Bytes)
	require.InEpsilon(t, (2*9*1000+2*n*(p-1)/p*0.5+n*(p-1)/p*0.25)/1e9, res.Time.Seconds(), 1e-6)
	require.Equal(t, 18*u.Ranks, res.Messages)
	require.Equal(t, u.Ranks*2*u.Bytes/u.Ranks*(u.Ranks-1), res.Bytes)
	require.Equal(t, u.Bytes, res.Busiest.Scratch)
}

// Predict works for every algorithm of every operation, with blocks that are empty for some ranks
// and with buffers that are too long for real memory. If Bytes is not 0, the 16 ranks send at least 15 messages. If
// Bytes is large, they send at least 15/16 of Bytes bytes in all, except in a barrier.
func TestEveryAlgorithm(t *testing.T) {
	for _, op := range simulation.Operations() {
		names, err := simulation.Algorithms(op)
		require.NoError(t, err)
		for _, name := range names {
			for _, bytes := range []int{0, 3, 24, 1 << 30} {
				u := simulation.Run{Operation: op, Algorithm: name, Ranks: 16, Bytes: bytes, Root: 5, Model: run().Model}
				res, err := u.Predict()
				require.NoError(t, err, "%s %s of %d bytes", op, name, bytes)
				if bytes == 0 && op != "barrier" {
					continue // some operations send nothing
				}
				require.Positive(t, res.Time, "%s %s of %d bytes", op, name, bytes)
				require.GreaterOrEqual(t, res.Messages, u.Ranks-1)
				if bytes > 1000 && op != "barrier" {
					require.GreaterOrEqual(t, res.Bytes, bytes-bytes/u.Ranks, "%s %s", op, name)
				}
			}
		}
	}
}

// A run with more messages than MessagesMax, or with invalid fields, is refused.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		change func(u *simulation.Run)
		err    error
		says   string
	}{
		{func(u *simulation.Run) { u.Operation = "dance" }, simulation.ErrArgument, `no operation "dance"; there are barrier, bcast`},
		{func(u *simulation.Run) { u.Algorithm = "magic" }, simulation.ErrArgument, `no algorithm "magic" for allreduce; there are `},
		{func(u *simulation.Run) { u.Ranks = 0 }, simulation.ErrArgument, "Ranks is 0"},
		{func(u *simulation.Run) { u.Bytes = -1 }, simulation.ErrArgument, "Bytes is -1"},
		{func(u *simulation.Run) { u.Bytes = math.MaxInt }, simulation.ErrArgument, "512 Ranks times 9223372036854775807 Bytes are more than"},
		{func(u *simulation.Run) { u.Root = 512 }, simulation.ErrArgument, "Root is 512, but the ranks are 0 to 511"},
		{func(u *simulation.Run) { u.MessagesMax = -1 }, simulation.ErrArgument, "MessagesMax is -1"},
		{func(u *simulation.Run) { u.Model = simulation.Model{} }, simulation.ErrModel, "network has no segments"},
		{func(u *simulation.Run) { u.Operation, u.Algorithm, u.Ranks = "allgather", "recursive-doubling", 12 }, simulation.ErrRanks, "needs a power of two of ranks, not 12"},
		{func(u *simulation.Run) { u.Algorithm, u.Ranks, u.MessagesMax = "ring", 1<<14, 1e8 }, simulation.ErrMessages, "ring of allreduce on 16384 ranks sends about 5.4e+08 messages"},
		{func(u *simulation.Run) { u.Operation, u.Algorithm, u.MessagesMax = "alltoall", "bruck", 1e4 }, simulation.ErrMessages, "counting 100 copies as one"},
		{func(u *simulation.Run) { u.MessagesMax = 18*512 - 1 }, simulation.ErrMessages, "512 ranks send more than 9215"},
	} {
		u := run()
		c.change(&u)
		_, err := u.Predict()
		require.ErrorIs(t, err, c.err, c.says)
		require.ErrorContains(t, err, c.says)
	}
	u := run()
	u.MessagesMax = 24 * 4096
	_, err := u.Predict()
	require.NoError(t, err)
}

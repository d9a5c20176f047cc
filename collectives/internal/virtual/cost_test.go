package virtual_test

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/virtual"
)

// TestClosedForms compares the times of several algorithms with the formulas in their comments. The test
// repeats these formulas. The numbers of ranks are powers of two, for which the formulas are
// exact. In the formulas, n is the number of bytes of the vector or of a block. p is the number of
// ranks.
func TestClosedForms(t *testing.T) {
	type form func(p, n, log float64) float64
	hops := func(p, _, log float64) float64 { return log * alpha }
	for _, c := range []struct {
		op   message.Operation
		name string
		want form
	}{
		{message.Barrier, "dissemination", hops},
		{message.Bcast, "binomial", func(_, n, log float64) float64 { return log * (alpha + n*beta) }},
		{message.Bcast, "scatter-allgather", func(p, n, log float64) float64 { return (log+p-1)*alpha + 2*n*(p-1)/p*beta }},
		{message.Reduce, "binomial", func(_, n, log float64) float64 { return log * (alpha + n*beta + n*gamma) }},
		{message.Reduce, "ordered", func(_, n, log float64) float64 { return log * (alpha + n*beta + n*gamma) }},
		{message.AllReduce, "recursive-doubling", func(_, n, log float64) float64 { return log * (alpha + n*beta + n*gamma) }},
		{message.AllReduce, "rabenseifner", func(p, n, log float64) float64 { return 2*log*alpha + 2*n*(p-1)/p*beta + n*(p-1)/p*gamma }},
		{message.AllReduce, "ring", func(p, n, _ float64) float64 { return 2*(p-1)*alpha + 2*n*(p-1)/p*beta + n*(p-1)/p*gamma }},
		{message.Gather, "binomial", func(p, n, log float64) float64 { return log*alpha + n*(p-1)*beta }},
		{message.Scatter, "binomial", func(p, n, log float64) float64 { return log*alpha + n*(p-1)*beta }},
		{message.AllGather, "recursive-doubling", func(p, n, log float64) float64 { return log*alpha + n*(p-1)*beta }},
		{message.AllGather, "bruck", func(p, n, log float64) float64 { return log*alpha + n*(p-1)*beta }},
		{message.AllGather, "ring", func(p, n, _ float64) float64 { return (p - 1) * (alpha + n*beta) }},
		{message.AllToAll, "bruck", func(p, n, log float64) float64 { return log * (alpha + n*p/2*beta) }},
		{message.AllToAll, "pairwise", func(p, n, _ float64) float64 { return (p - 1) * (alpha + n*beta) }},
	} {
		a := message.Find(c.op, c.name)
		require.NotNil(t, a, "%v %s", c.op, c.name)
		for _, p := range []int{2, 4, 16, 64} {
			for _, n := range []int{0, 1 << 10, 1 << 20} {
				res, err := virtual.Run(virtual.Setup{Ranks: p, Model: uniform}, func(r *virtual.Rank) error {
					return a.Run(r, equalCall(r, a.Operation, n))
				})
				require.NoError(t, err)
				want := c.want(float64(p), float64(n), float64(bits.Len(uint(p))-1))
				require.InDelta(t, want, nanoseconds(res.Time), 1e-6*want+1e-3*float64(p), "%v %s of %d bytes, %d ranks", c.op, c.name, n, p)
			}
		}
	}
}

// equalCall returns the arguments of an operation with blocks or vectors of n bytes and root 0.
func equalCall(r *virtual.Rank, op message.Operation, n int) *message.Call {
	send, recv, all := n, n, n*r.Size()
	c := &message.Call{Reduction: r.Reduction(sum)}
	switch op {
	case message.Barrier:
		send, recv = 0, 0
	case message.Gather, message.AllGather:
		recv, c.RecvParts = all, message.Equal(n)
	case message.Scatter:
		send, c.SendParts = all, message.Equal(n)
	case message.AllToAll:
		send, recv, c.SendParts, c.RecvParts = all, all, message.Equal(n), message.Equal(n)
	default:
	}
	c.Send, c.Recv = r.Argument(0, send), r.Argument(1, recv)
	return c
}

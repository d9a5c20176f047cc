package simulation

import (
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/virtual"
)

// arguments holds the arguments of an operation that are the same at all ranks, or can be computed from
// the rank.
type arguments struct {
	operation            message.Operation
	send, recv           int // lengths of the buffers in bytes
	sendParts, recvParts message.Parts
	own                  func(rank int) int // length of recv at a rank; nil if it is the same at every rank
	ring                 bool               // the neighbors of a rank are rank-1 and rank+1, modulo Ranks
	root                 int
	reduction            message.Reduction
}

// elements has the lengths, in bytes, of the elements of a reduction.
var elements = [...]int{8, 4, 2, 1}

// element returns the largest length in the array elements that divides n.
func element(n int) int {
	for _, e := range elements {
		if n%e == 0 {
			return e
		}
	}
	return 1
}

// arguments returns the arguments with which the run calls op.
func (u *Run) arguments(op message.Operation) *arguments {
	n, all := u.Bytes, u.Bytes*u.Ranks
	g := &arguments{operation: op, root: u.Root, send: n, recv: n}
	if op.Reduces() {
		g.reduction = message.Reduction{Fn: func(_, _, _ []byte) {}, Elem: element(n), Commutative: true, Operator: 1}
	}
	equal := message.Equal(n)
	switch op {
	case message.Bcast:
		g.send = 0
	case message.ReduceScatter:
		counts := spread(n/g.reduction.Elem, u.Ranks)
		g.sendParts = message.Uneven(counts, nil, g.reduction.Elem)
		g.own = g.sendParts.Count
	case message.ReduceScatterBlock, message.Scatter:
		g.send, g.sendParts = all, equal
	case message.Gather, message.AllGather:
		g.recv, g.recvParts = all, equal
	case message.AllToAll:
		g.send, g.recv, g.sendParts, g.recvParts = all, all, equal, equal
	case message.GatherV, message.AllGatherV:
		g.recv, g.recvParts = all, u.uneven()
	case message.ScatterV:
		g.send, g.sendParts = all, u.uneven()
	case message.AllToAllV:
		parts := u.uneven()
		g.send, g.recv, g.sendParts, g.recvParts = all, all, parts, parts
	case message.NeighborAllGather, message.NeighborAllGatherV:
		g.ring, g.recv, g.recvParts = true, 2*n, equal
		g.sendParts = message.Uneven([]int{n, n}, []int{0, 0}, 1)
	case message.NeighborAllToAll, message.NeighborAllToAllV:
		g.ring, g.send, g.recv, g.sendParts, g.recvParts = true, 2*n, 2*n, equal, equal
	default:
	}
	return g
}

// uneven returns blocks of u.Bytes for every rank, in the form that operations with counts use.
func (u *Run) uneven() message.Parts {
	counts := make([]int, u.Ranks)
	for i := range counts {
		counts[i] = u.Bytes
	}
	return message.Uneven(counts, nil, 1)
}

// spread divides n into several numbers. The argument parts is the count of these numbers. The numbers
// differ by at most one, and their sum is n.
func spread(n, parts int) []int {
	counts := make([]int, parts)
	for i := range counts {
		counts[i] = n / parts
		if i < n%parts {
			counts[i]++
		}
	}
	return counts
}

// call returns the arguments of a rank.
func (g *arguments) call(r *virtual.Rank) *message.Call {
	c := &message.Call{Root: g.root, SendParts: g.sendParts, RecvParts: g.recvParts}
	if g.reduction.Fn != nil {
		c.Reduction = r.Reduction(g.reduction)
	}
	if g.ring {
		next, before := (r.Rank()+1)%r.Size(), (r.Rank()+r.Size()-1)%r.Size()
		c.Sources, c.Dests = []int{before, next}, []int{next, before}
	}
	send, recv := g.send, g.recv
	if g.own != nil {
		recv = g.own(r.Rank())
	}
	if g.operation == message.Barrier {
		return c
	}
	if g.operation.Rooted() && r.Rank() != g.root {
		switch g.operation { // only root has this buffer
		case message.Reduce, message.Gather, message.GatherV:
			recv = 0
		case message.Scatter, message.ScatterV:
			send = 0
		default:
		}
	}
	c.Send, c.Recv = r.Argument(0, send), r.Argument(1, recv)
	return c
}

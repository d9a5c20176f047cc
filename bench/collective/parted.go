package main

import (
	"slices"

	"github.com/gorun-hpc/gorun/bench/internal/osu"
	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// newPartedCall returns the call of an operation on prefixes of ranks or with a count for each
// rank, nil for others. As in OSU, all counts are the same, but for what is left of a message
// that is reduced and scattered: the first ranks get one element more.
func newPartedCall[T osu.Element](operation string, c *runtime.Comm, send, recv []T) func() error {
	const root = 0
	n := c.Size()
	even := func(buf []T) (counts, displs []int) {
		each := len(buf) / n
		for rank := range n {
			displs = append(displs, rank*each)
		}
		return slices.Repeat([]int{each}, n), displs
	}
	switch operation {
	case "scan":
		return func() error { return collectives.Scan(c, send, recv, collectives.Sum) }
	case "exscan":
		return func() error { return collectives.ExScan(c, send, recv, collectives.Sum) }
	case "reducescatterblock":
		each := max(len(send)/n, 1)
		whole := send[:min(each*n, len(send))]
		if len(whole) < each*n { // a message of fewer elements than ranks becomes one with one for each
			whole = make([]T, each*n)
		}
		return func() error { return collectives.ReduceScatterBlock(c, whole, recv[:each], collectives.Sum) }
	case "reducescatter":
		counts := portions(len(send), n)
		return func() error {
			return collectives.ReduceScatter(c, send, recv[:counts[c.Rank()]], counts, collectives.Sum)
		}
	case "allgatherv":
		counts, displs := even(recv)
		return func() error { return collectives.AllGatherV(c, send, recv, counts, displs) }
	case "gatherv":
		counts, displs := even(recv)
		return func() error { return collectives.GatherV(c, send, recv, counts, displs, root) }
	case "scatterv":
		counts, displs := even(send)
		return func() error { return collectives.ScatterV(c, send, counts, displs, recv, root) }
	case "alltoallv":
		counts, displs := even(send)
		return func() error { return collectives.AllToAllV(c, send, counts, displs, recv, counts, displs) }
	default:
		return nil
	}
}

// portions divides elements among ranks: the first ones get one more.
func portions(elements, ranks int) []int {
	counts := make([]int, ranks)
	for rank := range counts {
		counts[rank] = elements / ranks
		if rank < elements%ranks {
			counts[rank]++
		}
	}
	return counts
}

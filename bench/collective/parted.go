package main

import (
	"slices"

	"github.com/gorun-hpc/gorun/bench/internal/osu"
	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// newPartedCall returns a function that makes the measured call of a scan, of a reduce-scatter, or of an
// operation with counts (allgatherv, gatherv, scatterv, alltoallv). It returns nil for other operations, which
// newCall knows. As in OSU's benchmarks, all ranks have the same count, except in reducescatter. There, the first
// ranks get one more element if the number of elements is not a multiple of the number of ranks.
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
		each := len(send) / n
		if each == 0 { // fewer elements than ranks: each rank gets one element
			each, send, recv = 1, make([]T, n), make([]T, 1)
		}
		return func() error { return collectives.ReduceScatterBlock(c, send[:each*n], recv[:each], collectives.Sum) }
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

// portions returns the number of elements of each rank if elements are divided among ranks. If they cannot be
// divided evenly, the first ranks get one more element.
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

package main

import (
	"strings"

	"github.com/gorun-hpc/gorun/bench/internal/osu"
	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// operationNames are the values of -op.
var operationNames = []string{
	"allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "barrier", "bcast", "exscan",
	"gather", "gatherv", "reduce", "reducescatter", "reducescatterblock", "scan", "scatter", "scatterv",
	"iallreduce", "ibarrier", "ibcast",
}

// blocks returns how many blocks a rank sends and receives. A block has the message size. In a
// reduce-scatter, the message size is the size of each rank's whole contribution.
func blocks(operation string, ranks int) (send, recv int) {
	switch strings.TrimSuffix(operation, "v") {
	case "allgather", "gather":
		return 1, ranks
	case "scatter":
		return ranks, 1
	case "alltoall":
		return ranks, ranks
	default:
		return 1, 1
	}
}

// newCall returns a function that makes the measured call of an operation. The root is rank 0, and
// reductions add.
func newCall[T osu.Element](operation string, c *runtime.Comm, send, recv []T) func() error {
	const root = 0
	wait := func(r runtime.Request) error {
		_, err := r.Wait()
		return err
	}
	switch operation {
	case "allgather":
		return func() error { return collectives.AllGather(c, send, recv) }
	case "allreduce":
		return func() error { return collectives.AllReduce(c, send, recv, collectives.Sum) }
	case "alltoall":
		return func() error { return collectives.AllToAll(c, send, recv) }
	case "barrier":
		return func() error { return collectives.Barrier(c) }
	case "bcast":
		return func() error { return collectives.Bcast(c, send, root) }
	case "gather":
		return func() error { return collectives.Gather(c, send, recv, root) }
	case "reduce":
		return func() error { return collectives.Reduce(c, send, recv, collectives.Sum, root) }
	case "scatter":
		return func() error { return collectives.Scatter(c, send, recv, root) }
	case "iallreduce":
		return func() error { return wait(collectives.IAllReduce(c, send, recv, collectives.Sum)) }
	case "ibarrier":
		return func() error { return wait(collectives.IBarrier(c)) }
	case "ibcast":
		return func() error { return wait(collectives.IBcast(c, send, root)) }
	default:
		return newPartedCall(operation, c, send, recv)
	}
}

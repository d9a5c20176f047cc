package message

import "strconv"

// Operation is one of the collective operations.
type Operation uint8

// The operations.
const (
	Barrier Operation = iota
	Bcast
	Reduce
	AllReduce
	ReduceScatter
	ReduceScatterBlock
	Gather
	GatherV
	Scatter
	ScatterV
	AllGather
	AllGatherV
	AllToAll
	AllToAllV
	Scan
	ExScan
	NeighborAllGather
	NeighborAllGatherV
	NeighborAllToAll
	NeighborAllToAllV
	// Operations is the number of operations.
	Operations
)

var operationNames = [Operations]string{
	"barrier", "bcast", "reduce", "allreduce", "reducescatter", "reducescatterblock", "gather", "gatherv", "scatter", "scatterv",
	"allgather", "allgatherv", "alltoall", "alltoallv", "scan", "exscan",
	"neighborallgather", "neighborallgatherv", "neighboralltoall", "neighboralltoallv",
}

// String returns the name of the operation in GORUN_COLL.
func (o Operation) String() string {
	if o < Operations {
		return operationNames[o]
	}
	return "operation " + strconv.Itoa(int(o))
}

// Rooted reports whether the operation has a root.
func (o Operation) Rooted() bool {
	switch o {
	case Bcast, Reduce, Gather, GatherV, Scatter, ScatterV:
		return true
	default:
		return false
	}
}

// Reduces reports whether the operation has an operator.
func (o Operation) Reduces() bool {
	switch o {
	case Reduce, AllReduce, ReduceScatter, ReduceScatterBlock, Scan, ExScan:
		return true
	default:
		return false
	}
}

// Neighborhood reports whether the operation moves data only between neighbors.
func (o Operation) Neighborhood() bool { return o >= NeighborAllGather && o <= NeighborAllToAllV }

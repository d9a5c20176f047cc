package collectives

import "strconv"

// operation is one of the collective operations.
type operation uint8

const (
	opBarrier operation = iota
	opBcast
	opReduce
	opAllReduce
	opGather
	opScatter
	opAllGather
	opAllToAll
	operations
)

var operationNames = [operations]string{"barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall"}

// String returns the name as GORUN_COLL spells it.
func (o operation) String() string {
	if o < operations {
		return operationNames[o]
	}
	return "operation " + strconv.Itoa(int(o))
}

// algorithm is a way to do an operation.
type algorithm uint8

const (
	automatic algorithm = iota
	flags
	counter
	dissemination
	exchange
	small
	pair
	segments
	pipeline
	pull
	binomial
	ordered
	scatterAllGather
	recursiveDoubling
	rabenseifner
	ring
	bruck
	pairwise
	algorithms
)

var algorithmNames = [algorithms]string{
	automatic: "auto", flags: "node-flags", counter: "node-counter", dissemination: "dissemination",
	exchange: "node-exchange", small: "node-small", pair: "node-pair", segments: "node-segments", pipeline: "node-pipeline", pull: "node-pull",
	binomial: "binomial", ordered: "ordered", scatterAllGather: "scatter-allgather",
	recursiveDoubling: "recursive-doubling", rabenseifner: "rabenseifner", ring: "ring", bruck: "bruck", pairwise: "pairwise",
}

// String returns the name as GORUN_COLL spells it.
func (a algorithm) String() string {
	if a < algorithms {
		return algorithmNames[a]
	}
	return "algorithm " + strconv.Itoa(int(a))
}

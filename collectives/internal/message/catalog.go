package message

// Algorithm is an algorithm for an operation. All ranks must run the same algorithm for the same
// call. Callers must not rely on the number of messages of an algorithm.
type Algorithm struct {
	Operation Operation
	// Name is the name in GORUN_COLL. It is unique among the algorithms of the operation.
	Name string
	Run  func(Peer, *Call) error
	// Limits are the conditions under which the algorithm works, and the property Learns. If one of the
	// conditions does not hold, the result may be wrong.
	Limits Limits
	// LeftToRight is true if a reduction combines each element in the order of a loop over the ranks,
	// ((x0 op x1) op x2) op .... The bits of the result then depend only on the operands.
	LeftToRight bool
}

// Limits is a set of restrictions and properties of an algorithm.
type Limits uint8

const (
	// Commutes means that the operator must be commutative.
	Commutes Limits = 1 << iota
	// PowerOfTwo means that the number of ranks must be a power of two.
	PowerOfTwo
	// Apart means that Recv of an all-to-all must not be the same memory as Send.
	Apart
	// Learns means that ranks receive lengths in messages, and that their further messages depend on
	// these lengths. The lengths are received into memory that is not in the Call. So a rank cannot
	// be simulated without the other ranks.
	Learns
)

// catalog has all algorithms. An algorithm that serves several operations has a row for each of them.
var catalog = []Algorithm{
	{Barrier, "dissemination", BarrierDissemination, 0, false},
	{Barrier, "k-nomial", BarrierKNomial, 0, false},
	{Bcast, "binomial", BcastBinomial, 0, false},
	{Bcast, "scatter-allgather", BcastScatterAllGather, 0, false},
	{Bcast, "scatter-doubling", BcastScatterDoubling, PowerOfTwo, false},
	{Bcast, "k-nomial", BcastKNomial, 0, false},
	{Bcast, "chain", BcastChain, 0, false},
	{Reduce, "binomial", ReduceBinomial, Commutes, false},
	{Reduce, "ordered", ReduceOrdered, 0, false},
	{Reduce, "in-order", ReduceInOrder, 0, true},
	{Reduce, "rabenseifner", ReduceRabenseifner, Commutes, false},
	{AllReduce, "recursive-doubling", AllReduceRecursiveDoubling, 0, false},
	{AllReduce, "rabenseifner", AllReduceRabenseifner, Commutes, false},
	{AllReduce, "ring", AllReduceRing, Commutes, false},
	{AllReduce, "in-order", AllReduceInOrder, 0, true},
	{ReduceScatter, "pairwise", ReduceScatterPairwise, Commutes, false},
	{ReduceScatter, "in-order", ReduceScatterInOrder, 0, true},
	{ReduceScatter, "halving", ReduceScatterHalving, Commutes, false},
	{ReduceScatter, "ring", ReduceScatterRing, Commutes, false},
	{ReduceScatter, "pat", ReduceScatterPAT, Commutes, false},
	{ReduceScatterBlock, "pairwise", ReduceScatterPairwise, Commutes, false},
	{ReduceScatterBlock, "in-order", ReduceScatterInOrder, 0, true},
	{ReduceScatterBlock, "halving", ReduceScatterHalving, Commutes, false},
	{ReduceScatterBlock, "ring", ReduceScatterRing, Commutes, false},
	{ReduceScatterBlock, "pat", ReduceScatterPAT, Commutes, false},
	{Gather, "binomial", GatherBinomial, 0, false},
	{Gather, "linear", GatherVLinear, 0, false},
	{GatherV, "linear", GatherVLinear, 0, false},
	{GatherV, "binomial", GatherVBinomial, Learns, false},
	{Scatter, "binomial", ScatterBinomial, 0, false},
	{Scatter, "linear", ScatterVLinear, 0, false},
	{ScatterV, "linear", ScatterVLinear, 0, false},
	{ScatterV, "binomial", ScatterVBinomial, Learns, false},
	{AllGather, "recursive-doubling", AllGatherRecursiveDoubling, PowerOfTwo, false},
	{AllGather, "bruck", AllGatherBruck, 0, false},
	{AllGather, "ring", AllGatherRing, 0, false},
	{AllGather, "pat", AllGatherPAT, 0, false},
	{AllGather, "direct", AllGatherDirect, 0, false},
	{AllGatherV, "ring", AllGatherRing, 0, false},
	{AllGatherV, "bruck", AllGatherVBruck, 0, false},
	{AllGatherV, "pat", AllGatherPAT, 0, false},
	{AllGatherV, "direct", AllGatherDirect, 0, false},
	{AllToAll, "bruck", AllToAllBruck, 0, false},
	{AllToAll, "pairwise", AllToAllPairwise, Apart, false},
	{AllToAll, "scattered", AllToAllVScattered, Apart, false},
	{AllToAllV, "pairwise", AllToAllPairwise, Apart, false},
	{AllToAllV, "bruck", AllToAllVBruck, Learns, false},
	{AllToAllV, "scattered", AllToAllVScattered, Apart, false},
	{Scan, "recursive-doubling", ScanRecursiveDoubling, 0, false},
	{Scan, "chain", ScanChain, 0, true},
	{Scan, "tree", ScanTree, 0, false},
	{Scan, "pipeline", ScanPipeline, 0, true},
	{ExScan, "recursive-doubling", ExScanRecursiveDoubling, 0, false},
	{ExScan, "chain", ExScanChain, 0, true},
	{ExScan, "tree", ExScanTree, 0, false},
	{NeighborAllGather, "distance", NeighborDistance, 0, false},
	{NeighborAllGatherV, "distance", NeighborDistance, 0, false},
	{NeighborAllToAll, "distance", NeighborDistance, 0, false},
	{NeighborAllToAllV, "distance", NeighborDistance, 0, false},
}

// Algorithms returns all algorithms. The algorithms of one operation follow each other. The caller
// must not change them.
func Algorithms() []Algorithm { return catalog }

// Find returns the algorithm of an operation by its name, or nil if the operation has no algorithm of
// that name.
func Find(op Operation, name string) *Algorithm {
	for i := range catalog {
		if a := &catalog[i]; a.Operation == op && a.Name == name {
			return a
		}
	}
	return nil
}

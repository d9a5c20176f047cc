// Package collectives holds the operations that all ranks of a communicator take
// part in: barrier, broadcast, reductions, scans, gather, scatter, all-to-all.
//
//	sum := make([]float64, 1)
//	err := collectives.AllReduce(c, []float64{x}, sum, collectives.Sum)
//
// # Forms
//
// Every operation has three forms. X returns when this member's part is done. IX starts it
// and returns a request, which runtime's Wait, Test, WaitAll and WaitAny take together with
// those of messages; it makes progress while the program computes. XInit checks the
// arguments once and returns a runtime.Persistent, which Start starts each time, and
// StartAll beside persistent messages.
//
// # Counts and displacements
//
// Buffers of a V operation and of ReduceScatter have a block for each member: block i is
// the counts[i] elements from displs[i] on. Without displs (nil) the blocks follow each
// other. Both are in elements. Counts may be 0, and where a count is 0 the displacement
// means nothing. Blocks of a buffer that is received must not share elements, and the
// buffer may be longer than its blocks.
//
// # Rules
//
//   - All members call the same operations in the same order, with buffers of the
//     same length, the same root and the same operator; with counts, what a member
//     sends is as long as what the other one receives from it. On one communicator one
//     blocking operation runs at a time; nonblocking ones may run beside it. A
//     nonblocking operation matches those of the other members in the order in which
//     they were started, never a blocking one: members of which some call IBarrier
//     and others Barrier wait for each other, without an error. The start of a
//     persistent operation counts as the start of a nonblocking one.
//   - Elements are any type without pointers. Built-in operators fit numbers and
//     bools; MinLoc and MaxLoc tell where an extreme is; Func makes an operator for
//     every other type.
//   - Wrong arguments are refused before anything is sent. An operation that is
//     abandoned, because its context ended or a member died, leaves the communicator
//     broken for all members (runtime.ErrCommBroken). Where a member died,
//     errors.As finds its runtime.PeerError at every other member, too.
//   - Members that call different operations, or with different lengths, roots,
//     operators or element types, get a MismatchError, which names both source lines,
//     and the others ErrCommBroken: at that call, at the next one, or when the
//     communicator is closed, if no member waited for another one. Two goroutines of a
//     rank in blocking operations on one communicator, those with values among them, get
//     runtime.ErrInUse, and the others ErrCommBroken.
//   - Counts that differ where they should not are a MismatchError if all members know
//     them (AllGatherV, ReduceScatter), and an error of the length of a message, or
//     runtime.ErrTruncate, if two members know them.
//   - Messages of collectives never match receives of the program.
//
// With GORUN_COMPARE=0 (or false) at all ranks calls are not compared, and those that differ have undefined results, or
// wait for ever. Calls of two groups are compared nevertheless.
//
// # Neighbors
//
// NeighborAllGather, NeighborAllGatherV, NeighborAllToAll and NeighborAllToAllV move data along
// the edges of a runtime.Cart or runtime.Graph, in the order of Comm.Neighbors. All members call
// them, those without neighbors, too. Each knows the lengths of its own edges alone: where the
// ends of an edge differ, it is an error of the length of a message.
//
// # Values
//
// BcastValue, GatherValues, AllGatherValues, ScatterValues, ReduceValue and AllReduceValue take one
// value of any type, which runtime.SendValue describes, of other length at each member. A value that
// cannot be encoded or decoded is an error of those that do without it, and leaves the communicator
// whole; every other failure breaks it.
//
// # Two groups
//
// InterBarrier, InterBcast, InterReduce, InterAllReduce, InterGather, InterScatter,
// InterAllGather and InterAllToAll move data between the two groups of a runtime.Intercomm. Where
// one rank is the root, it gives Root, the other ranks of its group give runtime.ProcNull, and
// those of the other group its rank. They have the same forms as the others (InterIBcast,
// InterBcastInit, ...), and ranks or groups that do not call the same get a MismatchError.
//
// # In place
//
// AllReduce, Scan, ExScan, AllToAll, AllToAllV, and Reduce at its root accept the
// same slice as send and recv. Gather and GatherV at their root, AllGather and
// AllGatherV accept as send this rank's block of recv; Scatter and ScatterV at
// their root, ReduceScatter and ReduceScatterBlock accept as recv this rank's block
// of send. Other overlaps are refused. Buffers that an operation does not use at a
// rank (recv of Reduce, Gather and GatherV, send of Scatter and ScatterV, and the
// counts, anywhere but at the root) may be nil.
//
// # Order and rounding
//
// For given numbers of ranks and bytes, a reduction takes its operands in a
// fixed order, and all ranks get the same bits. The order is that of the ranks
// unless the operator is commutative and the ranks are on several nodes. Their
// grouping depends on the algorithm.
//
// With gorun -reproducible, or GORUN_REPRODUCIBLE=1 (or true) at all ranks, a reduction has the
// bits of a loop over the ranks, ((x0 op x1) op x2) op ..., for scans over the first
// of them. They depend on the number of ranks alone: not on the nodes, the algorithm,
// the length of the vector or the form of the call. Ranks of one node lose nothing by
// that; between nodes a short reduction needs p-1 messages of each rank instead of
// log p. An algorithm that GORUN_COLL asks for and that combines in another order is
// replaced.
//
// # Algorithms
//
// Ranks of one node communicate through shared memory (internal/node), others by
// messages (internal/message). Where nodes have several ranks each, most operations have two levels
// (internal/tier): within the nodes by shared memory, and between one rank of each by messages.
// Long blocks of an all-to-all on a node are read in place
// from the other process's memory, copied once instead of twice; where that is
// forbidden, they are sent as messages. Explain says which algorithm an operation uses
// and why, gorun -explain prints at the end which ones were used; the environment
// variable GORUN_COLL overrides the choice, as in
//
//	GORUN_COLL="allreduce=ring,bcast=binomial"
//
// A table that bench/tune has measured on a machine replaces the built-in choice: GORUN_COLL_TABLE
// names its file, Tune gives it to one communicator (see ParseTable). GORUN_COLL has priority.
//
// An algorithm that cannot serve a call (shared memory across nodes, an operator
// that does not commute) is replaced by the table's choice.
package collectives

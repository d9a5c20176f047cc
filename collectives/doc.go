// Package collectives holds the operations that all ranks of a communicator take
// part in: barrier, broadcast, reductions, gather, scatter, all-to-all.
//
//	sum := make([]float64, 1)
//	err := collectives.AllReduce(c, []float64{x}, sum, collectives.Sum)
//
// # Rules
//
//   - All members call the same operations in the same order, with buffers of the
//     same length, the same root and the same operator. On one communicator one
//     blocking operation runs at a time; nonblocking ones may run beside it. A
//     nonblocking operation matches those of the other members in the order in which
//     they were started, never a blocking one: members of which some call IBarrier
//     and others Barrier wait for each other, without an error.
//   - Elements are any type without pointers. Built-in operators fit numbers and
//     bools; Func makes an operator for every other type.
//   - Wrong arguments are refused before anything is sent. An operation that is
//     abandoned, because its context ended or a member died, leaves the communicator
//     broken for all members (runtime.ErrCommBroken). Where a member died,
//     errors.As finds its runtime.PeerError at every other member, too.
//   - Members that call different operations, or with different lengths, roots,
//     operators or element types, get a MismatchError, which names both source lines,
//     and the others ErrCommBroken: at that call, at the next one, or when the
//     communicator is closed, if no member waited for another one. Two goroutines of a
//     rank in blocking operations on one communicator get runtime.ErrInUse.
//   - Messages of collectives never match receives of the program.
//
// # In place
//
// AllReduce, AllToAll, and Reduce at its root accept the same slice as send and
// recv. Gather at its root and AllGather accept as send this rank's block of
// recv; Scatter at its root accepts as recv this rank's block of send. Other
// overlaps are refused. Buffers that an operation does not use at a rank (recv of
// Reduce and Gather, send of Scatter anywhere but at the root) may be nil.
//
// # Order and rounding
//
// For given numbers of ranks and bytes, a reduction takes its operands in a
// fixed order, and all ranks get the same bits. The order is that of the ranks
// unless the operator is commutative and the ranks are on several nodes.
//
// # Algorithms
//
// Ranks of one node communicate through shared memory (internal/node), others by
// messages (internal/message). Long blocks of an all-to-all on a node are read in place
// from the other process's memory, copied once instead of twice; where that is
// forbidden, they are sent as messages. Explain says which algorithm an operation uses
// and why, gorun -explain prints at the end which ones were used; the environment
// variable GORUN_COLL overrides the choice, as in
//
//	GORUN_COLL="allreduce=ring,bcast=binomial"
//
// An algorithm that cannot serve a call (shared memory across nodes, an operator
// that does not commute) is replaced by the table's choice.
package collectives

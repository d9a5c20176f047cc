// Package collectives provides the operations in which all ranks of a communicator take
// part: barrier, broadcast, reductions, scans, gather, scatter, all-to-all.
//
//	sum := make([]float64, 1)
//	err := collectives.AllReduce(c, []float64{x}, sum, collectives.Sum)
//
// # Forms
//
// Every operation X, except those with values (see Values below), has three forms. (The forms of Inter
// operations have other names, see Two groups below.) The blocking form X returns when this member's part of the
// operation is complete. The nonblocking form IX starts the operation and returns a request, which runtime's
// Wait, Test, WaitAll and WaitAny accept together with requests of messages. The operation makes progress
// while the program computes. The persistent form XInit checks the arguments once and returns a
// runtime.Persistent. Each call of Persistent.Start starts the operation once. runtime.StartAll starts
// persistent operations and persistent messages together.
//
// # Counts and displacements
//
// In a V operation, such as AllToAllV, and in ReduceScatter, one or both buffers consist of blocks: one block
// for each member or, in a Neighbor operation, for each neighbor. Block i has counts[i] elements and begins at
// element displs[i]. If displs is nil, as always in ReduceScatter, the blocks follow each other. If the count of
// a block is 0, the displacement of the block is ignored. Blocks of a receive buffer must not share elements.
// Except in ReduceScatter, a buffer of blocks may be longer than all its blocks together.
//
// # Rules
//
//   - All members must call the same operations in the same order, with buffers of the same length,
//     the same root and the same operator. In an operation with counts, the sender and the receiver
//     of a block must pass the same length for it.
//   - At most one blocking operation may be in progress on a communicator; any number of
//     nonblocking operations may be in progress at the same time.
//   - Nonblocking operations of the members match each other in the order in which they were started.
//     A nonblocking operation never matches a blocking operation. If some members call IBarrier and
//     others call Barrier, all members wait, and no member gets an error. The start of a persistent
//     operation counts as the start of a nonblocking operation.
//   - Elements may have any type without pointers. The built-in operators are for numbers and
//     bools. MinLoc and MaxLoc also return the location of the extreme value. Func makes an
//     operator for any other type.
//   - An operation with wrong arguments returns an error, and this member sends nothing. If the
//     context of an operation ends or a member dies, the operation fails, and the communicator is
//     broken for all members (runtime.ErrCommBroken). If a member died, errors.As finds a
//     runtime.PeerError of this member in the errors of all other members.
//   - Calls of two members do not match if they are different operations, or the same operation with
//     different lengths, roots, operators or element types. The members that detect the difference
//     get a MismatchError, which names both calls and, as far as they are known, their source lines.
//     The other members get ErrCommBroken. A member gets its error from the call that does not match
//     or, if it did not wait for another member in this call, from a later call or from Close of the
//     communicator.
//   - If two goroutines of a rank are in blocking operations on one communicator, they get
//     runtime.ErrInUse, and the other members get ErrCommBroken. In this rule, operations with values
//     (see Values below) are blocking operations.
//   - In AllGatherV and ReduceScatter all members pass the counts of all blocks. If two members pass
//     different counts, the error is a MismatchError. In the other operations with counts, only the
//     sender and the receiver of a block know its count. If the two counts differ, the receiver
//     detects the difference, and the error is ErrLength or runtime.ErrTruncate.
//   - Messages of collectives never match receives of the program.
//
// With GORUN_COMPARE=0 (or false) at all ranks, gorun compares only calls on an Intercomm. If calls on
// another communicator then do not match, their results are undefined, or the calls fail or wait for ever.
//
// # Neighbors
//
// NeighborAllGather, NeighborAllGatherV, NeighborAllToAll and NeighborAllToAllV move data along
// the edges of a runtime.Cart or runtime.Graph, in the order of Comm.Neighbors. All members call
// them, including those without neighbors. A member knows only the lengths of its own edges. If the
// two ends of an edge pass different lengths, the error is ErrLength or runtime.ErrTruncate.
//
// # Values
//
// BcastValue, GatherValues, AllGatherValues, ScatterValues, ReduceValue and AllReduceValue move values
// of any type that runtime.SendValue accepts. The encoded values of the members may have different
// lengths. If a value cannot be encoded or decoded, some or all members get an error (see the comment of each
// operation), and the communicator stays usable. Every other failure, except for wrong arguments, breaks the
// communicator. Calls of ReduceValue and AllReduceValue are compared with those of other members. The other
// operations with values consist of operations such as Bcast and AllGather, and the calls of these operations
// are compared.
//
// # Two groups
//
// InterBarrier, InterBcast, InterReduce, InterAllReduce, InterGather, InterScatter, InterAllGather
// and InterAllToAll move data between the two groups of a runtime.Intercomm. In an operation with a
// root, the root passes Root as the argument root. The other ranks of the root's group pass
// runtime.ProcNull, and the ranks of the other group pass the rank of the root. Each of these
// operations has a nonblocking and a persistent form (InterIBcast, InterBcastInit, ...). Ranks or
// groups whose calls do not match get a MismatchError. If nonblocking operations do not match, and no message
// reaches a rank that waits, the operations wait for ever. A blocking operation on an Intercomm has steps that are
// blocking operations on the communicator that Local returns. So no other goroutine of the rank may be in a blocking
// operation on that communicator at the same time.
//
// # In place
//
// The arguments send and recv may overlap in the following cases. Other overlaps are refused.
//
//   - In AllReduce, Scan, ExScan, AllToAll and AllToAllV, and at the root of Reduce, send and recv may
//     be the same slice.
//   - In AllGather and AllGatherV, and at the root of Gather and GatherV, send may be this rank's block
//     of recv.
//   - In ReduceScatter and ReduceScatterBlock, and at the root of Scatter and ScatterV, recv may be
//     this rank's block of send.
//
// At ranks other than the root, the following arguments are not used and may be nil: recv of Reduce,
// Gather and GatherV, send of Scatter and ScatterV, and counts and displs of GatherV and ScatterV.
//
// # Order and rounding
//
// For given numbers of ranks and bytes, a reduction takes its operands in a fixed order, and all
// ranks get the same bits. If the operator is commutative, this order may differ from the order of the
// ranks in the following cases:
//
//   - The ranks are on several nodes.
//   - The operation is nonblocking or persistent.
//   - GORUN_COLL or a Table selects the algorithm.
//   - An element is longer than a segment of the node's shared memory. (In ReduceScatter and
//     ReduceScatterBlock: an element is longer than a segment divided by the number of the other ranks.)
//     A segment has at least 4 KiB.
//
// In all other cases, the order of the operands is the order of the ranks. The grouping of the operands
// (where the parentheses are) depends on the algorithm.
//
// The option gorun -reproducible, or GORUN_REPRODUCIBLE=1 (or true) at all ranks, makes reductions
// reproducible. The result of a reduction then has the same bits as that of a loop over the ranks, ((x0 op x1)
// op x2) op .... The result of a scan at rank i has the same bits as that of a loop over the ranks 0 to i
// (Scan) or 0 to i-1 (ExScan). The bits depend only on the operands. They do not depend on the nodes,
// the algorithm, the length of the vector or the form of the call. On one node this option costs almost
// no time in blocking operations. Between nodes, and in nonblocking operations, each of p ranks sends
// p-1 to 2 (p-1) messages instead of the log p messages of a short reduction. (In a scan, a chain of p-1
// messages replaces log p rounds.) If GORUN_COLL names an algorithm that combines in another order, gorun
// uses another algorithm instead. The option does not change ReduceValue
// and AllReduceValue: they always combine along the same tree, so that the bits of their result depend only
// on the operands, but may differ from those of a loop.
//
// # Algorithms
//
// Nonblocking and persistent operations send messages (internal/message). In blocking operations, ranks
// of one node communicate through shared memory (internal/node), ranks of different nodes by messages.
// If there are several nodes, and a node has several ranks, many operations have two levels (internal/tier): the
// ranks of a node communicate through shared memory, and one rank of each node exchanges messages with the other
// nodes. In an all-to-all on a node, ranks that share processors send long blocks as messages. If each rank
// has a processor, it reads long blocks directly from the private memory of the process that sends them, so that
// they are copied once instead of twice. If such reads are not permitted, the blocks are sent as messages. Two
// ranks, each of which has a processor, are an exception: they copy long blocks through shared memory. They read
// private memory only if their processors have no common cache, or if they have measured that such reads are
// faster. Explain returns which algorithm an operation uses and why. gorun -explain prints the algorithms that were
// used, at the end of the run. The environment variable GORUN_COLL overrides the choice, as in
//
//	GORUN_COLL="allreduce=ring,bcast=binomial"
//
// A table that bench/tune has measured on a machine replaces the built-in choice. GORUN_COLL_TABLE
// names the table's file; Tune sets a table for one communicator (see ParseTable). GORUN_COLL has
// priority over the table.
//
// An algorithm may be unable to serve a call. For example, an algorithm for shared memory cannot serve
// ranks on several nodes. If the algorithm of GORUN_COLL cannot serve the call, the algorithm of the table is
// used. If the table's algorithm cannot serve it either, or if there is no table, the built-in choice
// is used.
package collectives

// Package node holds the collective algorithms of ranks that share memory. The ranks are called
// members. Each member has its own part of the shared memory, into which it writes data, and the
// other members read the data there, in place. Only GatherVSlots, ScatterVSlots and AllToAllVSlots
// also send messages, with long blocks.
//
// The algorithms whose names end with Pull do not copy data into a part. A rank exposes its private
// memory, and the other ranks read the data there, in place. Such reads need a permission of the operating
// system at every member: CanPull must return true. In the comments of operations with counts, part
// also means a block of a buffer (message.Parts).
//
// # Steps
//
// All members call the same operations in the same order. So they agree on numbers without
// communication. A small operation has one number, which is called its step. Each segment of a large
// operation has a number. The operations that read private memory have numbers of their own. Every word that
// a rank waits for in an operation holds such a number and only grows.
// Therefore no word is ever reset, and no operation ends with a barrier. (But a member that has exposed its private
// memory waits until the other members have read it.)
//
// A part has several buffers, which are used in turn. Before a rank writes a buffer again, all other
// ranks must have finished with the contents of the buffer. If every rank waits for every other rank
// in an operation, the writer needs no check, because a rank that has begun step n has finished step
// n-1. In other operations each rank writes the last step that it has finished into its done word. The
// writer of a buffer then reads the done words before it reuses the buffer.
//
// # Order of operands
//
// Every reduction here takes the operands in the order of the ranks and combines from left to right.
// So operators need not be commutative, and a result depends only on the contributions and the number
// of ranks.
//
// # Costs
//
// The comments of the algorithms state the cost for p members. alpha is the time until one member sees a
// word that another member has written. beta is the time to copy a byte, gamma the time to combine a byte.
//
// # Errors
//
// An operation fails if, while it waits, its context.Context ends or a member dies. It also fails
// if the members' calls differ, or if shared memory holds values that no member writes. After an
// error the members are out of step, and the group cannot be used.
package node

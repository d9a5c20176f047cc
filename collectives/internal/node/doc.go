// Package node holds the collective algorithms of ranks that share memory. Each rank
// writes into its own part of the shared memory, and the others read there, in place.
// Only GatherVSlots, ScatterVSlots and AllToAllVSlots also send messages, with long blocks.
//
// The algorithms whose names end with Pull do not copy data into a part: its owner exposes
// its private memory, and the others read there, in place. This needs a permission of the
// operating system at every member (see CanPull).
//
// # Steps
//
// All members call the same operations in the same order. So they agree on numbers
// without communication: a small operation has one number, its step, and each segment
// of a large operation has one. Every word that a rank waits for holds such a number and
// only grows. Therefore no word is ever reset, and no operation ends with a barrier.
//
// A part has several buffers, which are used in turn. Before a rank writes a buffer again,
// all others must have finished with its contents. After an operation in which every rank
// waits for every other rank, this needs no check: a rank that has begun step n has
// finished step n-1. In other operations each rank writes a done word, and the writer of
// a buffer checks these words before it reuses the buffer.
//
// # Order of operands
//
// Every reduction here takes the operands in the order of the ranks and
// combines from left to right. So operators need not be commutative, and a result
// depends on nothing but the contributions and the number of ranks.
//
// # Errors
//
// An operation fails if its context ends or a member dies while it waits, if the members'
// calls differ, or if shared memory holds values that no member writes. After an error the
// members are out of step, and the group cannot be used.
package node

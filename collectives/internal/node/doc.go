// Package node holds the collective algorithms of ranks that share memory. They
// send no messages: each rank writes into its own part of the shared memory, and
// the others read there, in place.
//
// Long blocks of an all-to-all are not copied into a part: their owner exposes them
// and the others read them in place, if all of them may (see CanPull).
//
// # Steps
//
// All members call the same operations in the same order, so they agree on a
// number for each without communication: the step of a small operation, the segment of
// a large one. Every word that a rank waits for holds such a number and only
// grows, so no word is ever reset and no operation ends with a barrier.
//
// A part has several buffers, used in turn. Before a rank writes a buffer again, all
// others must have finished with its contents. In an operation in which every rank
// waits for every other one no check is needed: a rank that has begun step n has
// finished step n-1. Other operations write a done word, and the writer checks it
// before it reuses the buffer.
//
// # Order of operands
//
// Every reduction here takes the operands in the order of the ranks and
// combines from the left. So operators need not be commutative, and a result
// depends on nothing but the number of ranks.
//
// # Errors
//
// An error comes from waiting: the context ended, a member died. The group is out of
// step then and cannot be used any more.
package node

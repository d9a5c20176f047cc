// Package node holds the collective algorithms of ranks that share memory. They
// send no messages: each rank writes into its own part of the shared memory, and
// the others read there, in place.
//
// Long blocks of an all-to-all are not copied into a part: their owner lends them
// and the others read them where they lie, if all of them may (see CanPull).
//
// # Steps
//
// All members call the same operations in the same order, so they agree on a
// number for each without talking: the step of a small operation, the segment of
// a large one. Every word that somebody waits for holds such a number and only
// grows, so nothing is ever reset and no operation ends with a barrier.
//
// A part has several buffers, used in turn. Before a rank writes one again, all
// others must have finished with what it held. In an operation in which everyone
// waits for everyone that is known for free: who has begun step n has finished
// step n-1. Other operations leave a done word behind, and the writer looks at
// it when the buffer comes round.
//
// # Order of operands
//
// Every reduction here takes the operands in the order of the ranks and
// combines from the left. So operators need not be commutative, and a result
// depends on nothing but the number of ranks.
//
// # Errors
//
// An error comes from waiting: the context ended, a member died. The group is
// out of step then and of no further use.
package node

// Package message contains the collective algorithms that send messages. They work on any network.
// The restrictions of an algorithm say for which numbers of ranks it works; without such a
// restriction it works for any number.
//
// Each algorithm has a file of its own, and communicates by the methods of Peer. Its doc comment has
// its restrictions, its cost for p ranks and, if the algorithm was published, its source. A message of
// n bytes takes the time alpha + n*beta, and combining n bytes takes the time n*gamma. Logarithms are to
// the base 2. In these comments c.Send and c.Recv are the buffers of the Call c. Except where a comment
// defines n differently, n is the length in bytes of each buffer that the operation uses; if it uses both,
// they have the same length. A part is a block in an operation with counts; the parts of a buffer may differ
// in length.
//
// Every algorithm is in the catalog. Package collectives, its simulation and the tests find the
// algorithms there.
//
// Buffers are bytes. The caller has checked their lengths. In operations without counts, all blocks
// have the same length on every rank. The buffers of a reduction have whole elements.
package message

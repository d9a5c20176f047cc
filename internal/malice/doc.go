// Package malice has tests alone: a rank of a job that sends whatever it likes. It has the job's
// secret, connects as every rank, and from then on what it sends is changed on its way, in every
// layer at once: segments of DDP, frames of transport/rdma, headers of the engine, messages of
// actors. The ranks that it sends to may give it up. They must not fail otherwise, must not wait
// for ever, must serve others as before, and must neither write nor tell what is not for it.
//
// What a rank says to its agent, over its socket, is changed as well: the other ranks get their cards
// and fences, whatever it was.
package malice

// Package malice has only tests. In some tests, one rank of a job is malicious. The malicious rank has the
// job's secret and connects like every rank. After that, such a test changes the data that the rank sends, in
// any layer. The layers are segments of DDP, frames of transport/rdma, headers of the engine, and
// messages of actors. The peers may report the malicious rank as lost. They must not fail in another way and
// must not wait forever. They must continue to serve the other ranks. They must not write memory that they have
// not exposed to the malicious rank, and must not send it data that is meant for other ranks.
//
// Other tests change what a rank sends to its agent over its socket. For every such change, the other ranks
// must still get the book with all cards, and the ends of their fences.
package malice

// Package malice only has tests. In each, one rank of a job is malicious. It has the job's secret
// and connects like every rank. After that, the tests change the data that it sends, in every layer
// at once: segments of DDP, frames of transport/rdma, headers of the engine, messages of actors.
// Its peers may report it as lost. They must not fail otherwise, must not wait forever, must serve
// other ranks as before, must not write memory that they have not exposed to the malicious rank,
// and must not send it data that is meant for others.
//
// Other tests change what a rank sends to its agent over its socket. Whatever it sends, the other
// ranks must get their cards and fences.
package malice

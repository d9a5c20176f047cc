// Package arena divides one rank's range of node memory into leases and records
// which rank holds each lease.
//
// The memory comes from a transport.Arena, which has no allocator of its own.
// A slab is memory that is divided into slots of one size. Small requests get slots, which are
// aligned to a cache line. Requests of LargeMin bytes and more get whole pages. The arena grows in
// chunks. A free page is hot if physical memory backs it, and cold if not (see temperature). Up to
// Config.Keep bytes of freed memory stay hot, so that a later lease of this memory causes no page
// faults.
//
// # Leases
//
// An allocation is a lease. A table records which rank holds the lease. There is no reference
// counter.
//
//	state   holder        ends when
//	own     this rank     Free
//	given   the receiver  Return by that rank, or TakeBack
//
// Until Confirm, the rank that has given memory away remains a second holder of the lease. The reason is
// that the receiver may return the memory, or die, before the call that sends the memory has ended.
//
// Data from peers is not trusted. Return returns an error and changes nothing if no lease begins at its
// offset. It does the same if the rank does not hold the lease, for example because it has returned the lease before.
//
// Contents are not cleared, except by AllocZeros: a lease starts with the contents that
// the last holder of its memory left.
//
// Any goroutine may call any method. All methods except Key take one mutex. It is a leaf in the
// order of locks: while it is held, only the transport.Arena and Guard are called.
package arena

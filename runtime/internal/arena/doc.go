// Package arena divides one rank's range of node memory into leases and records
// which rank holds which.
//
// The memory comes from a transport.Arena, which has no allocator of its own.
// Small requests are served from slabs of one size class and are aligned to a
// cache line; requests of LargeMin bytes and more get whole pages. The arena
// grows in chunks, and freed memory keeps its pages (hot) up to Config.Keep bytes, so
// that the page faults of the first access occur once.
//
// # Leases
//
// An allocation is a lease. A table, not a counter, says which rank holds it:
//
//	state   holder        ends when
//	own     this rank     Free
//	given   the receiver  Return by that rank, or TakeBack
//
// Given memory has its giver as a second holder until Confirm: the receiver may
// return it, or die, before the sender's call has ended.
//
// Data from peers is not trusted: an offset that names no lease, a release by a
// rank that does not hold the lease and a second release are errors that change
// nothing.
//
// Contents are not cleared: a lease starts with the contents that its last holder left.
//
// All methods may be called from any goroutine. They take one mutex, which is a
// leaf: only the transport.Arena is called while it is held.
package arena

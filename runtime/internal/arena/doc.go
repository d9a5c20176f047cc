// Package arena divides one rank's range of node memory into leases and knows
// at any moment who holds which.
//
// The memory comes from a transport.Arena, which has no allocator of its own.
// Small requests are served from slabs of one size class and are aligned to a
// cache line; requests of LargeMin bytes and more get whole pages. The arena
// grows in chunks, and what is freed stays in use by the machine (hot) up to
// Config.Keep bytes, so that the price of touching a page first is paid once.
//
// # Leases
//
// Memory that was allocated is a lease. The table, not a counter, says who
// holds it:
//
//	state   holder        readers      ends when
//	own     this rank     none         Free
//	given   who got it    none         Return by that rank, or TakeBack
//	shared  this rank     some ranks   Free and a Return of every reader
//	lent    nobody        some ranks   a Return of every reader
//
// Given memory has its giver as a second holder until Confirm: the receiver may
// return it, or die, before the sender's call has ended.
//
// What peers send is not trusted: an offset that names no lease, a release by a
// rank that does not hold it and a second release are errors that change
// nothing.
//
// Contents are not cleared: a lease starts with what its last holder left.
//
// All methods may be called from any goroutine. They take one mutex, which is a
// leaf: nothing is called while it is held but the transport.Arena.
package arena

// Package transport is the contract between the message engine and the packages that
// move bytes between ranks, the transports.
//
// A transport offers two services: small messages (a three-word header and a payload, both
// copied before Send returns) and bulk transfers (one-sided Get and Put on exposed memory). It
// knows nothing of tags, communicators or actors.
//
// # Rules every transport obeys
//
//   - Messages from one rank to another arrive in the order in which Send accepted
//     them: there is one ordered lane per pair, whatever the size and the path of a message.
//   - No method blocks. Send, Get, Put and FetchAdd return ErrAgain when a ring or
//     a queue is full. The caller then keeps the operation and repeats it after the next
//     Poll. A refused operation has had no effect.
//   - A full lane gets room when the peer polls. The peer need not ring this rank then,
//     because a rank with refused operations polls, or sleeps for a bounded time. A transport
//     may nevertheless ring a rank whose operation was refused and that has armed since (shm
//     does).
//   - Only Poll reports arrivals, completions and losses, by calling the Handler on the
//     goroutine that called Poll. No other method calls the Handler.
//   - A Handler may call Endpoint and Caps, Send, Get, Put, FetchAdd and Map,
//     Expose, Conceal and MarkDown from within every callback. It may not call
//     Poll, Arm or Close.
//   - A transport may hold back an accepted message until the next Poll or Arm, so that short
//     messages share a transfer. A transport that does so outside of Poll sends the message soon
//     by itself if there is no Poll (see Locking), and rings its own rank if that has armed.
//   - The engine calls all methods of a Transport and its Endpoints under one lock of
//     its own, hence never concurrently, except where a comment says so.
//   - The transport reports a lost peer once, by Handler.Down. Before that, the operations in
//     flight to the peer complete with an error that is ErrPeerDown. Later operations return
//     such an error.
//   - A peer that called Close is not lost, so there is no Down. Messages that it sent
//     before still arrive. A Send to it may be accepted and discarded as long as its
//     lane has room. Otherwise it returns an error that is ErrClosed. There is one exception,
//     in transports with connections: a peer that closed before its first connection to this
//     rank counts as lost, because a refused connection does not tell the two cases apart.
//
// # Ownership of memory
//
//	what                     who may access it, until when
//	Send's payload           the caller; the transport has copied it when Send returns
//	Arrive's payload         the transport; the handler may read it during the call
//	Get's dst, Put's src     the transport, from the call to the Completed of the operation
//	an exposed slice         peers, between Expose and the return of Conceal
//	Map's result             the caller may read it until the owner takes the memory back
//
// Package transporttest tests this contract. It runs against every transport and against the
// in-memory fake that injects faults.
//
// Unstable: any release may change this package, also after v1.
package transport

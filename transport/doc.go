// Package transport is the contract between the message engine and the packages that
// move bytes between ranks.
//
// A transport moves two things: small messages (a three-word header and a
// payload, both copied before Send returns) and bulk (one-sided Get and Put
// between exposed memory). It knows nothing of tags, communicators or actors.
//
// # Rules every transport obeys
//
//   - Messages of one pair of ranks arrive in the order in which Send accepted
//     them: one ordered lane per pair, whatever the size and the path of a message.
//   - No method blocks. Send, Get, Put and FetchAdd return ErrAgain when a ring or
//     a queue is full; the caller keeps the operation and repeats it after the next
//     Poll. A refused operation has had no effect.
//   - A full lane gets room when the peer polls. The peer need not ring for that: a
//     rank with refused operations polls, or sleeps for a bounded time. A transport
//     may ring a rank that was refused and has armed since (shm does).
//   - Arrivals, completions and losses are handed over by Poll only, on the
//     goroutine that called Poll. No method calls the Handler but Poll.
//   - A Handler may call Endpoint and Caps, Send, Get, Put, FetchAdd and Map,
//     Expose, Conceal and MarkDown from within every callback. It may not call
//     Poll, Arm or Close.
//   - What Send accepted may be held back until the next Poll or Arm, so that short
//     messages go together. A transport that holds something back outside of Poll
//     sends it by itself soon (Locking), and rings a rank that is armed.
//   - All methods of a Transport and its Endpoints are called under one lock of
//     the engine, hence never concurrently, except where a comment says so.
//   - A lost peer is reported once, by Handler.Down. Operations on it then return
//     an error that is ErrPeerDown; those under way complete with it first.
//   - A peer that called Close is not lost: there is no Down. Messages that it sent
//     before still arrive. A Send to it may be accepted, and discarded, while its
//     lane has room; then, or at once, it returns an error that is ErrClosed. Where
//     a connection has to be made first, a peer that closed before its first
//     connection to this rank counts as lost: a refused connection does not tell the two
//     apart.
//
// # Ownership of memory
//
//	what                     who may touch it, until when
//	Send's payload           the caller; the transport has copied it on return
//	Arrive's payload         the transport; the handler may read it during the call
//	Get's dst, Put's src     the transport from the call to its Completed
//	an exposed slice         peers, between Expose and the return of Conceal
//	Map's result             readable until the owner takes the memory back
//
// The suite in transporttest is this contract as tests; it runs against every
// transport and against the in-memory fake that injects faults.
//
// Unstable: any release may change this package, also after v1.
package transport

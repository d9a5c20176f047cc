// Package transport is the contract between the message engine and the packages that
// move bytes between ranks, the transports.
//
// A transport offers two services: small messages (a three-word header and a payload, both copied
// before Send returns) and bulk transfers (one-sided Get and Put on exposed memory). A transport
// knows nothing of tags, communicators or actors.
//
// # Rules that every transport obeys
//
//   - Messages from one rank to another arrive in the order in which Send accepted them: there is
//     one ordered lane from each rank to each other rank. The size of a message and the memory or
//     connection that carries the message do not change its place in the lane.
//   - No method except Close blocks. Send, Get, Put and FetchAdd return ErrAgain if the transport cannot
//     accept the operation now, for example because a ring or a queue is full. The caller then keeps the
//     operation and repeats it after the next Poll. A refused operation has had no effect.
//   - A full lane gets room when the peer polls. The peer need not ring this rank when the lane
//     gets room, because a rank with refused operations polls, or sleeps for a bounded time. A
//     transport may nevertheless ring a rank that was refused an operation and has then armed
//     (package shm does).
//   - Only Poll reports arrivals, completions and losses, by calling the Handler on the
//     goroutine that called Poll. No other method calls the Handler.
//   - From within every callback, a Handler may call all methods of an Endpoint, and these methods of
//     the Transport: Endpoint, Expose, Conceal, MarkDown and GiveUp. It may not call Poll, Arm or Close.
//   - A transport may hold back an accepted message until the next Poll or Arm, so that short
//     messages share a transfer. A transport that holds back messages which were sent outside of Poll
//     has two duties. If no Poll follows soon, the transport sends the messages by itself (see the
//     interface Locking). If this rank is armed, the transport rings this rank, so that it polls.
//   - The engine calls all methods of a Transport and its Endpoints under one lock of the engine.
//     So no two of these methods run concurrently, except where the comment of a method permits it.
//   - The transport reports a lost peer once, by Handler.Down. Before the transport calls
//     Handler.Down, all operations in flight to the peer complete. Those that have not succeeded
//     complete with an error that is ErrPeerDown (errors.Is). Later operations return an error that
//     is ErrPeerDown.
//   - A peer that called Close is not lost, so the transport does not call Handler.Down for this
//     peer. Messages that the peer sent before Close still arrive. A Send to the peer returns an
//     error that is ErrClosed. But as long as the lane to the peer has room, the transport may
//     instead accept the message and discard it.
//   - In transports with connections, the previous rule has one exception: a peer that closed before its
//     first connection to this rank counts as lost. A closed peer and a lost peer both refuse a
//     connection, so this rank cannot distinguish them.
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
// Package transporttest tests this contract. Its tests run against every transport and against an
// in-memory fake that injects faults.
//
// Unstable: any release may change this package, also after v1.
package transport

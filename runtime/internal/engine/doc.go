// Package engine is the message engine of a rank. It matches messages with receives, and moves the bytes of
// each message by the protocol that suits its length and the endpoint's capabilities. It works on bytes and
// world ranks. The engine does no I/O itself; its transports do the I/O.
//
// # What it guarantees
//
//   - Messages of one sender in one context are matched in the order in which they were sent,
//     whatever their sizes. The reason is that all envelopes from one rank to another travel in one
//     ordered lane.
//   - The average cost of matching does not depend on how many posted receives and
//     unexpected messages have another context, source or tag.
//   - The unexpected messages of a receiver consume at most Config.UnexpectedBudget bytes of credit.
//     Because lengths are rounded up, the messages may take more memory, but less than twice as
//     much. Beyond the budget, a message is announced without its bytes. The sender keeps the bytes
//     until the match, so a blocking send waits for the match. Each announced message costs the
//     receiver a record of less than 512 bytes. The program has to bound the number of announced
//     messages, that is, of the pending sends of all peers. The engine cannot bound this number: if
//     it refused a message for which the receiver waits, there would be a deadlock.
//   - A cancellation has an effect only before the match. A matched operation continues. Except
//     after a panic (guard.go), no operation ends while the engine or a peer may still access the caller's
//     slice.
//   - Any number of goroutines may use an engine at the same time.
//
// # Protocols
//
//	eager        the bytes travel with the envelope and are copied
//	handover     the key of arena memory travels; the receiver owns the memory
//	get          RTS with a key, the receiver reads, FIN
//	put          RTS, CTS with the receiver's key, the sender writes, FIN
//	copy         RTS, CTS, DATA frames in the lane
//
// RTS, CTS, FIN and DATA are kinds of frames (header.go). If a message is not handed over, the sender
// chooses between eager and rendezvous (get, put or copy), by transport.Caps and its credit. The receiver
// chooses between get and an answer by CTS, because only the receiver knows which memory it can read.
//
// # Locks and waiting
//
// Engine.mu guards everything that changes, transports included, except Engine.crowd, Engine.workers and
// Engine.attendance. Its type mutex belongs to this package. On amd64 and arm64, except with the race
// detector, Unlock of this type is a release store without a locked instruction (docs/adr/0008). Every call
// of the engine unlocks mu by a deferred call, so mu is also unlocked after a panic. A panic in Poll or
// Send of a transport, or in a wait, ends the engine (guard.go).
//
// The waiting goroutines poll: one of them holds the poll token, and the others are parked or asleep until
// the poller ends their wait or passes the token on. When no goroutine waits or serves, a background
// goroutine handles arrivals. Package progress decides what each goroutine does, and the engine
// carries out the decisions (wait.go, background.go, serve.go). The engine reports each event to the
// token by a method call. The result of the call says what to do, and Engine.obey does it. A wait for a
// request, a probe or credit succeeds when Engine.fire is called for its waiter. A wait for a word of
// memory succeeds when the function done of its waiter returns true. Any wait fails when the field err
// of its waiter is set. The end of the engine makes all other waits fail and ends all requests. A
// request with Gets or Puts in flight ends later, when these have completed (Engine.fail).
//
// # Ownership
//
//	what                       who may touch it, until when
//	buf of a send              the engine and the peer, until the call or Wait returns
//	buf of a receive           the engine and the peer, until the call or Wait returns
//	Handle                     the caller; its generation shows whether the record was reused
//	Message.Bytes              the receiver, until Message.Release
package engine

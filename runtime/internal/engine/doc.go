// Package engine is the message engine of a rank: it matches messages with
// receives and moves them by the protocol that suits their size and the
// endpoint's capabilities. It works on bytes and world ranks. It does no I/O; its transports
// do.
//
// # What it guarantees
//
//   - Messages of one sender in one context are matched in the order in which
//     they were sent, whatever their sizes: every message has its envelope in the
//     one ordered lane of its pair.
//   - Matching costs the same however many unrelated receives are posted and
//     unrelated messages wait.
//   - Unexpected messages take at most Config.UnexpectedBudget of the receiver's memory, and
//     less than as much again for rounding. Beyond that, a message is announced without its
//     bytes, which its sender keeps until the match; a blocking send waits. Each announced
//     message costs the receiver a record of less than 512 bytes. The program has to bound
//     their number, which is that of the sends under way at all peers: refusing one of them
//     could cause a deadlock, because the receiver may be waiting for it.
//   - A cancellation has an effect only before the match. A matched operation is completed, and no
//     call returns while the engine or a peer may still access the caller's slice.
//   - Any number of goroutines may call any method at any time.
//
// # Protocols
//
//	eager        the bytes travel with the envelope and are copied
//	handover     the key of arena memory travels; the receiver owns the memory
//	get          RTS with a key, the receiver reads, FIN
//	put          RTS, CTS with the receiver's key, the sender writes, FIN
//	copy         RTS, CTS, DATA frames in the lane
//
// The sender chooses between eager and the rest from transport.Caps and its
// credit; the receiver, which alone knows what memory it can read, chooses between get
// and an answer by CTS.
//
// # Locks and waiting
//
// Engine.mu guards everything, transports included. It is a lock of the engine's
// own, released by a plain store (docs/adr/0008) in a deferred call. So a panic releases it,
// and ends the engine if it came out of a transport or of a wait (guard.go).
// A waiting goroutine polls: one goroutine holds the poll token, the others park until
// the poller completes their request or passes the token on. When no goroutine waits, a
// background goroutine serves arrivals. Package progress decides all that, and the engine
// carries it out (wait.go, background.go, serve.go): an event of the token is a call, and
// obey carries out its result. A wait ends by fire (requests, probes, credit), when its done
// returns true (words of memory), by its err, or with the engine.
//
// # Ownership
//
//	what                       who may touch it, until when
//	buf of a send              the engine and the peer, until the call or Wait returns
//	buf of a receive           the engine, until the call or Wait returns
//	Handle                     the caller; its generation shows whether the record was reused
//	Message.Bytes              the receiver, until Message.Release
package engine

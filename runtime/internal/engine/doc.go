// Package engine is the message engine of a rank: it matches messages with
// receives and moves them by the protocol that suits their size and the
// endpoint's capabilities. It deals in bytes and world ranks, and does no I/O of
// its own: transports move what it says.
//
// # What it guarantees
//
//   - Messages of one sender in one context are matched in the order in which
//     they were sent, whatever their sizes: every message has its envelope in the
//     one ordered lane of its pair.
//   - Matching costs the same however many unrelated receives are posted and
//     unrelated messages wait.
//   - A flood of messages fills the receiver's memory up to Config.UnexpectedBudget
//     and no further, but for bytes lost to rounding, less than half. Beyond it a
//     message is announced without its bytes, and its sender keeps them until it is
//     matched: a blocking send waits. What is announced costs the receiver a record
//     of less than 512 bytes each. Their number is that of the sends under way at
//     all peers, which is for the program to bound: to refuse one of them could be
//     a deadlock, because the receiver may be waiting for just that one.
//   - Cancelling acts before the match only. What was matched is completed, and no
//     call returns while anyone may still touch the caller's slice.
//   - Any number of goroutines may call any method at any time.
//
// # Protocols
//
//	eager        the bytes travel with the envelope and are copied
//	handover     the name of arena memory travels; the receiver owns the memory
//	get          RTS with a key, the receiver reads, FIN
//	put          RTS, CTS with the receiver's key, the sender writes, FIN
//	copy         RTS, CTS, DATA frames in the lane
//
// The sender chooses between eager and the rest from transport.Caps and its
// credit; the receiver, who alone knows what it can reach, chooses between get and
// the answer to CTS.
//
// # Locks and waiting
//
// Engine.mu guards everything, transports included. It is a lock of the engine's
// own, given up by a release store (docs/adr/0008), always by defer: a panic leaves it
// free, and ends the engine if it came out of a transport or of a wait (guard.go).
// Whoever waits polls: one goroutine holds the poller's token, the others park until
// that one completes their request or hands the token on. A goroutine that finds the
// poller asleep borrows the token and gives it back armed. When nobody waits, one
// background goroutine serves arrivals.
//
// # Ownership
//
//	what                       who may touch it, until when
//	buf of a send              the engine and the peer, until the call or Wait returns
//	buf of a receive           the engine, until the call or Wait returns
//	Handle                     the caller; its generation tells when the record was used again
//	Message.Bytes              the receiver, until Message.Release
package engine

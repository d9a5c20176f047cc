// Package connection is the part of a provider of verbs that makes connections of the
// kernel's devices, through package rdmacm: what QueuePair, Handshake and ServicePoint of
// package provider say of connections. It moves no data. A provider, which has its queue pairs
// from uverbs or a library, embeds a Connection in each and implements Pair.
//
//	Connect -> resolving -> routing -> connecting -> established -> ended
//	Accept  ->                         accepting  -> established -> ended
//	                         Disconnect: established -> disconnecting -> ended
//
// All of it is called under the adapter's lock, but for Stir. Two things block, on iWARP: siw
// makes its TCP connection within the command Connect, and the end of an attempt waits for
// the peer's answer. Goroutines do both; Progress takes their results.
//
// # Two kinds of device
//
//	                     InfiniBand, RoCE                  iWARP
//	states of the pair   Pair.Modify, here                 the kernel
//	established          active: its confirmation          an event
//	read depths          in the terms of this side         of an answer: exchanged
//	private data         56, 196, 148 bytes, padded        251 bytes, as sent
//	nobody listens       rejected with reason 8            ECONNREFUSED of Connect
//
// siw serves as many Reads as the active side asks for, whatever the answer says, and tells
// that number (relaxed_ird_negotiation): an answer does not lower what the peer may have under
// way there. Consumers that need the limit say it in private data.
//
// The kernel takes no answer that is not the program's: Handshake.Refuse rejects with
// private data of its own, which this package knows again on the active side; strangers see
// a rejection. A process that is killed, and an Abort, look like an end in order to the
// other side: so the kernel tells it.
package connection

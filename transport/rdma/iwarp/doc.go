// Package iwarp is RDMA over TCP in pure Go: MPA, DDP and RDMAP (RFC 5044, 5041,
// 5040, 6581) as a provider of package verbs. It needs no privileges and no
// adapter, runs on every network, and speaks with the kernel's siw driver and with
// iWARP adapters.
//
//	verbs      endpoints, work queues, completions, states
//	---------------------------------------------------------------
//	iwarp      device     regions and their STags, epoll, timers
//	           queuePair  one TCP connection: connect.go, accept.go,
//	                      transmit.go, receive.go, end.go
//	---------------------------------------------------------------
//	rdmap ddp mpa          the wire, pure
//
// # No thread of its own
//
// There is no goroutine here, but while a line of the log is written. Sockets are non-blocking and are driven by whoever
// polls the adapter: a post tries to write at once, [verbs.Device] Progress reads
// what has arrived. The sockets heard from last are asked directly, the others
// through epoll, so that a ping-pong costs no system call more than over raw TCP.
// Who has nothing to do sleeps on the epoll descriptor.
//
// # The way of a byte
//
// A segment longer than a few hundred bytes is written from the application's
// registered memory by sendmsg, its CRC computed in place just before. On the other
// side the head of the segment says where it belongs, and the rest of it is read by
// readv into the registered target, together with the head of the next one; the CRC
// is computed where the bytes then lie. Short segments are gathered into one buffer
// on the way out and copied out of one on the way in, many of them for one system
// call. A segment of some KiB that goes alone is copied, too, in both directions: a
// call with a list of places costs more than a copy does in the cache, if the copy
// begins at the same place of a cache line on both sides, which is seen to. Where the
// consumer leaves room around its memory (verbs.FlagRoom) there is no such copy: the
// headers and the CRC of a Send that goes alone are written around it, and a Send is
// read with them to where the next one is likely to belong. See plain.go.
//
// A long segment is therefore placed before its CRC is known. When the CRC then is
// wrong nothing is delivered, as RFC 5044 section 8 has it, but registered memory
// may have been written; adapters that cut through do the same. TCP's own checksum
// lies below.
//
// # Who may speak
//
// The passive side sends nothing before the active side's first FPDU. With revision
// 2 the active side sends a zero-length RDMA Write (the RTR of RFC 6581) as soon as
// it has the reply, so this shows nowhere; with revision 1 the passive consumer's
// messages wait for the active consumer's first.
//
// # Strangers
//
// A connection to a listener has a deadline for its MPA request and there is a cap
// on how many may be without one; beyond it the oldest is dropped. Of the process's
// descriptors they have a share, and the last of them are never taken: when few are
// left, the oldest without a request gives its own to who connects, and without one
// the connection is reset. A request that is rejected is answered, and its socket is
// closed at once: what it still says is the system's to deal with.
//
// A peer that breaks a rule gets the Terminate message that the RFC has for it and
// loses its connection, and nothing else happens. Its socket is read for a while, so
// that the message arrives: 16 MiB at most, and 64 sockets at a time. [Counters] counts
// all of them.
package iwarp

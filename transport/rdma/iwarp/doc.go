// Package iwarp is RDMA over TCP in pure Go: MPA, DDP and RDMAP (RFC 5044, 5041,
// 5040, 6581) as a provider of package verbs (see package verbs/provider). It needs no privileges and no
// adapter, runs on every network, and interoperates with the kernel's siw driver and with
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
// There is no goroutine here, except while a log line is written, and during a handshake of
// TLS. Sockets are non-blocking and are driven by the goroutine that polls the adapter: a post tries to
// write at once, [provider.Device] Progress reads arrived data. The most recently active
// sockets are read directly, the others through epoll, so that a ping-pong makes no more
// system calls than over raw TCP. An idle caller sleeps on the epoll descriptor.
//
// # The path of a byte
//
// A segment longer than a few hundred bytes is written from the application's
// registered memory by sendmsg, its CRC computed in place just before. On the other
// side the head of the segment says where it belongs, and the rest of it is read by
// readv into the registered target, together with the head of the next one; the CRC
// is computed where the bytes then lie. Short segments are gathered into one buffer
// for sending and copied out of one after receiving, many of them for one system
// call. A single segment of some KiB is copied, too, in both directions: a system call
// with an I/O vector costs more than a copy within the cache, provided that source and
// destination have the same offset in a cache line, which is arranged. Where the
// consumer leaves room around its memory (provider.FlagRoom) there is no such copy: the
// headers and the CRC of a single Send are written around it, and a Send is read with
// them to the place where the next one is expected. See plain.go.
//
// A long segment is therefore placed before its CRC is checked. When the CRC is wrong
// nothing is delivered, as RFC 5044 section 8 requires, but registered memory may have
// been written; cut-through adapters do the same. TCP has a checksum of its own below.
//
// # Slow links
//
// A segment to a peer that is this module, too, may have its payload compressed by S2; a bit
// says so that RFC 5041 reserves, and MPA and its CRC know nothing of it. internal/packing decides for
// each connection: when its socket has been full, and TCP says that the link and not the peer
// is what is slow, a sample of one segment is tried, then the segment, and those after it as long as
// it takes less time than it saves on the link. A look in vain doubles the payload until the next one, up to 64 MiB.
//
// # Which side may send
//
// The passive side sends nothing before the active side's first FPDU. With revision
// 2 the active side sends a zero-length RDMA Write (the RTR of RFC 6581) as soon as
// it has the reply, so consumers do not notice this; with revision 1 the passive
// consumer's messages wait for the active consumer's first. A peer that connects with
// revision 2 and without an RTR, as the kernel's siw does, is waited for until it had
// time to leave its set-up ([Config].Pause): its consumers know nothing of the rule.
//
// # Strangers
//
// A connection to a listener has a deadline for its MPA request, and the number of
// connections without a request is limited; beyond the limit one of the older half is dropped,
// of the address that has most there (crowd.go). They may use a share of the process's
// descriptors, and never the last ones: when few are left, a new connection replaces one
// without a request in the same way, or is reset if there is none. A request that is rejected is answered, and its socket is closed at once: the
// kernel discards what the peer still sends.
//
// A peer that breaks a rule gets the Terminate message that the RFC defines for it and
// loses its connection, without other effects. Its socket is read for a while, so that
// the message arrives: 16 MiB at most, and 64 sockets at a time. [Counters] counts all of
// them.
//
// Unstable: any release may change this package, also after v1.
package iwarp

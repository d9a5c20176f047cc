// Package iwarp is RDMA over TCP in pure Go: MPA, DDP and RDMAP (RFC 5044, 5041,
// 5040, 6581) as a provider of package verbs (see package verbs/provider). It needs no privileges and no
// adapter, runs on every network, and interoperates with the kernel's siw driver and with
// iWARP adapters.
//
//	verbs      endpoints, work queues, completions, states
//	---------------------------------------------------------------
//	iwarp      device     regions and their STags, epoll, timers
//	           queuePair  one TCP connection: connect.go, handshake.go,
//	                      transmit.go, receive.go, end.go
//	---------------------------------------------------------------
//	rdmap ddp mpa          the wire formats and their rules, without I/O
//
// # No thread of its own
//
// The package starts goroutines only to write a log line and to run a TLS handshake. A goroutine ends when no line is
// left to write, or when its handshake is over. Sockets are non-blocking, and the goroutine that polls the adapter
// does the work of all connections. Posting a Send, Write or Read tries to write to the socket at once, and Progress
// of [provider.Device] reads data that has arrived. Progress reads the most recently active sockets without asking
// epoll, and reads the other sockets when epoll reports them. So a ping-pong over this package makes no more system
// calls than a ping-pong over raw TCP. An idle caller sleeps on the epoll descriptor.
//
// # The path of a byte
//
// In general, a payload of more than 2 KiB is written from the application's registered memory by
// sendmsg. Just before the call, the CRC of the segment is computed over the same memory. The receiver
// first reads the headers of the segment, because they say where the payload belongs. One readv then
// reads the payload into the registered memory, and the headers of the next segment into a staging
// buffer. The CRC is computed over the payload in its final place. Short segments are gathered into one
// buffer, which one system call sends, and are received into one buffer, from which they are copied out.
// A Send of at most 16 KiB that travels alone is also copied on both sides, because a system call with an
// I/O vector costs more than a copy within the cache. The copy is fast only if source and destination
// have the same offset within a cache line. The package places payloads in its buffers accordingly. If the
// consumer leaves room around its memory (provider.FlagRoom), the sender does not copy such a Send: it
// writes the headers and the CRC of the Send into that room. The receiver reads the whole frame, with its
// headers, directly into the posted receive that the Send consumes, if the previous read returned exactly
// one Send of more than 2 KiB. See plain.go.
//
// A long segment is placed in registered memory before its CRC is checked. If the CRC is wrong, no
// message is delivered, as RFC 5044 section 8 requires, but registered memory may have been written.
// Adapters in hardware that forward bytes before they have checked the CRC have the same property.
// TCP's checksum also protects the bytes.
//
// # Slow links
//
// If the peer runs this module, too, the payload of a segment may be compressed by S2. A reserved bit
// of the DDP header (RFC 5041) marks a compressed segment. MPA and its CRC handle a compressed segment
// like any other segment. Package internal/packing decides for each connection whether its segments
// are compressed. A sample of a segment is compressed if three conditions hold: the send buffer of the
// socket has been full, TCP_INFO shows that the receive window of the peer was not the limit, and the link
// is slow (packing.Slowest). If the sample shrinks to 7/8 or less, the whole segment is compressed. If this
// saves time, the segments after it are compressed, too.
// Compression ends after four consecutive segments for which it did not save time, or when the link is
// no longer slow or the peer's receive window limits the rate. After each attempt without
// success, the amount of payload that is sent before the next attempt doubles, up to 64 MiB.
//
// # Which side may send
//
// In general, the passive side sends nothing before the active side's first FPDU. With revision 2 of MPA
// the active side sends a zero-length RDMA Write or Read (the RTR of RFC 6581) as soon as it has the
// reply. Therefore, with revision 2, consumers do not notice that the passive side has to wait. With revision 1,
// messages of the passive consumer wait until the active consumer has sent its first message. If a peer connects with
// revision 2 but without an RTR, as the kernel's siw does, the passive side waits for [Config].Pause, in which the
// peer completes its set-up. It then sends first, because the peer's consumer may be waiting.
//
// # Strangers
//
// A connection to a listener must send its MPA request before a deadline, and the number of connections
// without a request is limited. Beyond the limit, each new connection replaces an older connection
// without a request. The replaced connection is chosen from the older half of these connections: it is the
// oldest connection of the host that has the most connections in this half (crowd.go). At each listener,
// connections without a request use at most an eighth of the descriptors that the process may have. No
// accepted connection uses the last 4 to 64 descriptors, which are kept for the program. When only these
// are left, connections without a request at this listener are dropped until a lower descriptor is free. If
// none is left to drop, the new connection is reset. When a request is rejected, the reply is sent and the
// socket is closed at once. If the peer then sends more, the kernel resets the connection. An initiator
// that follows the protocol sends nothing before it has read the reply.
//
// If a peer violates the protocol, this side sends the Terminate message that the RFC defines for the
// violation, and ends the connection. Other connections are not affected. This side then reads and
// discards the bytes that the peer still sends, because otherwise TCP would reset the connection and the
// Terminate would be lost. It discards at most 16 MiB for each socket, from at most 64 sockets at a
// time. [Counters] counts the dropped connections, the rejected requests and the Terminates.
//
// Unstable: any release may change this package, also after v1.
package iwarp

// Package rdma is the transport between ranks of different nodes. It runs over any
// provider of package verbs: iWARP over TCP, or RDMA adapters.
//
// # Who does what
//
//	engine        Send Get Put FetchAdd         Poll Arm            one lock: the engine's
//	------------------------------------------------------------------------------
//	endpoint      lane and operations of a peer; outlive connections
//	link          one connection: endpoint of verbs, window, control frames
//	                    ^ commands, in order      | events
//	------------------------------------------------------------------------------
//	supervisor      one actor: supervises
//	connector     one actor per peer: records, addresses, deadlines; its machine (package
//	              peering) decides which connection is used and when each ends
//
// An actor decides and Poll executes. A connector never accesses an endpoint of
// verbs: it queues commands (dial, accept, use, retire, goodbye, end, forget),
// which are functions that the next Poll calls in order, and rings the rank's
// Sleeper. Poll sends events to the actors: established, rejected, lost, first
// message, BYE. So everything below runs under the engine's lock and needs no lock of
// its own, and the data path has no mailbox. The only operation that an actor executes
// itself is to reject a request, which shares no state. A link is made by an actor and
// passed on with its command; link.go says which goroutine may access which field.
//
// The actor system is made with the first connection. An actor that panics is
// stopped, and its peer is lost.
//
// # Rails
//
// A rail is an adapter with its receives, send memory, completion queue and listener
// (rail.go). A transport has one or more: adapters, and iWARP over TCP as the last resort.
// The connector asks for connections between rails of one fabric, best first (candidate.go);
// lanes and operations outlive that a connection is lost and the next one is on another
// rail. A pair that is on a worse rail than it could be comes back to the better one when that
// works again (comeback.go). Poll visits the first rail always and the others as their pace allows.
//
// # Small messages
//
// A message is copied into a registered buffer and posted as a Send into the
// receives that the peer has posted, under the credits of package credit: never a
// Send without a receive. The buffer is kept until the peer has acknowledged the
// frame. After a lost connection, unacknowledged frames are sent again on the next one,
// and the receiver drops those that it has. frame.go defines the layout. Around each
// frame there is room for the provider's headers, so that a message is copied once
// between engine and network. The receive of the last delivered message is posted again
// by the next Poll, so that the program's answer is sent before.
//
// All peers share one queue of receives (package credit's Pool). An accepted Send has
// been posted: without a credit and a connection no frame is queued here, except frames
// that are sent again.
//
// # Bulk
//
//	Get       Reads of at most 1 MiB, as many at a time as negotiated (ORD), the Gets
//	          to one peer in turn
//	Put       Writes, and a marker message behind them: its acknowledgement says that
//	          they are placed (RFC 5040 section 5.5: a Write's completion does not)
//	FetchAdd  a message to the owner, which is delivered exactly once
//
// interruption.go says how a lost connection affects them. Bytes are transferred from the
// sender's slice or Buffer directly into the receiver's. For a provider in software a
// registration is an entry in a table: memory is registered by Expose, and for the time of an
// operation. Where that pins pages, the chunks of the arena stay registered, short slices of
// the heap are copied through registered memory, and only long ones are registered, and
// pinned, for their time: registrations.go. There a peer's key of an exposure reaches more
// memory than that, the whole chunk, until it is deregistered: the ranks of a job trust each
// other with their arenas, as on a node.
//
// # Waiting
//
// Arm arms the completion queue: a goroutine of the adapter sleeps in the kernel,
// makes progress meanwhile, so that a sleeping rank serves its peers' Reads, and
// rings the Sleeper when something has come. Beside shared memory (Config.Companion)
// Poll looks at the sockets less often while nothing comes; see pace.go.
//
// # Ends
//
//	Close               all that was sent is acknowledged (or nothing was for
//	                    Config.Linger), then BYE to every peer, which answers; not longer
//	                    than Config.Goodbye
//	idle (Config.Idle)  BYE, and a new connection with the next message
//	lost connection     another one, for Config.GiveUp; then the peer is down
//	connection refused  the peer is down: at once where the address is this host's own,
//	                    else after Config.Absence, or after some attempts if it was
//	                    connected before. A peer that was never connected may have called
//	                    Close; this cannot be distinguished
//	no answer           the peer is down after Config.GiveUp; but if it is
//	                    Config.Supervised and its system accepts TCP connections, it was
//	                    stopped, and is waited for
//	MarkDown            its connections are read to their end, which its system sends, for
//	                    at most Config.Departure; then the peer is down
//	malformed frame     the peer is down with transport.ErrDamaged
//
// # Strangers
//
// Both sides prove that they know the job's secret before anything else of theirs is taken:
// by records in the private data of the request and the reply, and a proof in the first message
// of the active side, which package negotiation defines. Until then the endpoint is guarded
// (verbs.EndpointConfig).
//
// The provider drops garbage and half-open connections, by deadline and by a maximum
// number. A request whose record does not verify is refused with its reason, without
// notice to the actor of a peer, and counted; the first one of either kind is logged. A
// first message without the proof ends its connection and is counted with them. A
// refusal that does not verify is counted, too, and ends one attempt.
//
// Unstable: any release may change this package, also after v1.
package rdma

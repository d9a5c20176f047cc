// Package rdma is the transport between ranks of different nodes. It runs over any provider of
// package verbs: iWARP over TCP, or RDMA adapters.
//
// # Division of work
//
//	engine        Send Get Put FetchAdd         Poll Arm            one lock: the engine's
//	------------------------------------------------------------------------------
//	endpoint      lane and operations of a peer; outlive connections
//	link          one connection: endpoint of verbs, window, control frames
//	                    ^ commands, in order      | events
//	------------------------------------------------------------------------------
//	supervisor    one actor: starts and supervises the connectors
//	connector     one actor per peer: handshakes, addresses, deadlines; its peering.Machine
//	              decides which connection is used and when each connection ends
//
// An actor decides and Poll executes. A connector never accesses an endpoint of verbs. A connector
// enqueues commands (for example dial, accept, use, retire, goodbye, end, forget) and rings the rank's
// Sleeper. Commands are functions, which the next Poll calls in order. Poll sends events to the actors,
// for example established, rejected, lost, first message, BYE (the frame that begins the orderly end of
// a connection). So nearly all code of this package outside of the actors runs under the engine's lock and
// needs no lock of its own. The main exceptions are the queue of commands (command.go) and the memory that
// stays registered (registrations.go), which have locks of their own. No message of the engine passes through
// the mailbox of an actor. For a connection that this rank requests, the actor makes the link and passes it to
// Poll with a command. For a connection that the peer requests, Poll makes the link and passes it to the actor
// with an event. link.go says which goroutine may access which field of a link.
//
// The actor system is created with the first event for an actor, for example when a connection is first
// wanted, or by Transport.ActorSystem. If the actor of a peer panics, the actor is stopped, and the peer is
// lost.
//
// # Rails
//
// A rail is an adapter with its receives, send memory, completion queue and listener (rail.go). A
// transport has one or more rails: RDMA adapters, and usually iWARP over TCP as the last resort. A way to a peer
// is a pair of rails of one fabric, one rail of each rank. The connector tries the ways one after the
// other, the best way first (candidate.go). Lanes, FetchAdds and most Gets survive the loss of a connection,
// even if the next connection is on another rail; a Put in flight usually fails (interruption.go). If a better
// rail works again, the two ranks move their connection back to that rail (comeback.go). A rail after the first
// one is polled less often while it has no traffic (pace.go). The first rail is polled by every Poll, unless
// shared memory is polled as well (Config.Companion): then the first rail is also polled less often while it
// has no traffic.
//
// # Small messages
//
// A message is copied into a registered buffer and posted as a Send, which consumes a receive that the
// peer has posted. The credits of package credit ensure that no Send is posted without a receive. The
// buffer is kept until the peer has acknowledged the frame. After the loss of a connection,
// unacknowledged frames are retransmitted on the next connection, as soon as the first frame of the peer has
// acknowledged those that the peer had received before. If a frame that the peer has received were retransmitted,
// the acknowledgement could free its buffer while the adapter still reads it. frame.go defines the layout.
//
// Unless the receives are small, each frame has room before it and after it for the provider's headers and
// trailers (receives.go), so that a message is copied only once between engine and network. The receive of
// the last delivered message is not posted again at once, so that the program's answer can be sent first.
// The next Poll or Arm, or the delivery of the next message, posts this receive.
//
// All connections of a rail take their receives from one shared receive queue; package credit's Pool
// limits the receives of each peer. If the method Send of an endpoint has accepted a message, the message
// was posted, or waits in an open frame (batch.go), which the next Poll, the next Arm or a timer posts. If
// there is no credit or no connection, the method Send refuses the message. So only two kinds of frames
// are queued: open frames, and frames to be retransmitted.
//
// # Bulk
//
//	Get       Reads of at most 1 MiB, as many at a time as negotiated (ORD); the Gets
//	          from one peer take turns
//	Put       Writes, followed by a marker message; the acknowledgement of the marker
//	          confirms that the bytes are placed (RFC 5040 section 5.5: the completion of
//	          a Write does not confirm this)
//	FetchAdd  a message to the owner, which is delivered exactly once
//
// interruption.go describes the effect of a lost connection on these operations. Except for the copies
// described below, bytes are transferred from the sender's slice or Buffer directly into the receiver's slice
// or Buffer. With a provider in software that pins no memory, a registration is only an entry in a table. With
// such a provider, Expose registers the exposed memory, and each Get or Put registers its local memory until
// the operation is complete. If a registration pins pages, registrations.go decides how memory is registered.
// Chunks of the arena that were used stay registered. Short slices of the heap are copied through registered
// memory. Long slices of the heap are registered, and pinned, for the duration of an operation. If a long slice
// is transferred repeatedly, it stays registered until no operation has used it for two garbage collections, or until
// the registration is evicted (heap.go). On adapters whose registrations pin pages, the key of arena memory
// that is exposed for reading usually covers the whole chunks that contain the memory, until the chunks are
// deregistered. A peer with this key can also read the other bytes of the chunks. This access is acceptable,
// because the ranks of a job trust each other with their arenas, as they do on a node.
//
// # Waiting
//
// Arm arms the completion queue of each rail. If the rank is alone on its node and has one rail, the rank's own
// sleeping goroutine then waits in the kernel (doze.go). Otherwise a goroutine of each adapter waits in the kernel,
// and rings the Sleeper when something has arrived. In both cases a sleeping rank serves its peers' Reads. If
// shared memory is polled, too (Config.Companion), Poll polls the first rail less often while no message
// arrives; see pace.go.
//
// # Ends
//
//	Close               waits until all frames that were sent before are acknowledged, and then
//	                    those that were sent meanwhile. Close stops waiting if no frame was
//	                    acknowledged for Config.Linger, or if the last adapter has failed.
//	                    Then Close sends BYE on every connection, and waits for the answers
//	                    for at most Config.Goodbye
//	idle (Config.Idle)  BYE, and a new connection with the next message
//	lost connection     a new connection is tried for Config.GiveUp; then the peer is down
//	connection refused  the peer is down. If all its addresses are addresses of this host:
//	                    at once. If a connection to the peer was in use before: after some
//	                    attempts. Otherwise: after Config.Absence. A peer that has called
//	                    Close also refuses connections. So a rank that was never connected
//	                    to this peer declares it down, although its end was orderly
//	no answer           the peer is down after Config.GiveUp. But if Config.Supervised is
//	                    true and the peer's operating system accepts TCP connections, this
//	                    rank assumes that the peer's process is suspended (for example by
//	                    SIGSTOP), and goes on waiting for the peer
//	MarkDown, GiveUp    for at most Config.Departure, Poll delivers messages that the peer
//	                    sent before its end, until each connection of the peer has ended; then the
//	                    peer is down
//	malformed frame     the peer is down with transport.ErrDamaged
//
// # Strangers
//
// A stranger is a sender that cannot prove that it knows the job's secret. Each side gives this proof
// before the other side accepts anything else from it. The proofs are the records in the private data of
// the request and of the reply, and a message authentication code at the end of the first message of the
// active side. Package negotiation defines them. Until the proofs are verified, the endpoint is guarded
// if the provider supports guards (Guarded in verbs.EndpointConfig).
//
// The provider limits half-open connections by a deadline and by a maximum number, and drops data
// that is not a connection request. A request whose record does not verify is rejected with the reason, and
// counted. The actor of a peer does not learn of such a request. If the first message of an
// accepted connection has no valid proof, the connection is ended and counted in the same counters.
// Of all invalid requests and invalid first messages together, only the first one is logged. A rejection that
// does not verify is counted, too, and ends one attempt.
//
// Unstable: any release may change this package, also after v1.
package rdma

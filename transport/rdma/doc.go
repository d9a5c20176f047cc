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
//	director      one actor: authenticates requests, supervises
//	connector     one actor per peer: records, addresses, deadlines; its machine (package
//	              peering) decides which connection is used and when each ends
//
// An actor decides and Poll carries out. A connector never touches an endpoint of
// verbs: it queues commands (dial, accept, use, retire, farewell, end, forget),
// which are functions that the next Poll calls in order, and rings the rank's
// Sleeper. Poll tells the actors of events: established, rejected, lost, first
// message, BYE. So everything below runs under the engine's lock, nothing of it needs
// a lock of its own, and the data path never sees a mailbox. The one thing that an
// actor does itself is to reject a request, which concerns nobody else. A link is
// made by an actor and handed on with its command; link.go says who may touch what.
//
// The actor system is made with the first connection. An actor that panics is
// stopped, and its peer is lost.
//
// # Small messages
//
// A message is copied into a registered buffer and posted as a Send into the
// receives that the peer has posted, under the credits of package credit: never a
// Send without a receive. The buffer is kept until the peer has acknowledged the
// frame. After a lost connection, whatever is not acknowledged is sent again on the
// next, and what has come already is dropped. frame.go has the layout. Around each
// frame there is room for the provider's headers, so that the way from the engine to the
// network has one copy. The receive of the message that was handed over last is posted
// again with the next Poll: the program's answer comes first.
//
// All peers share one queue of receives (package credit's Pool). A Send that is
// accepted is on its way: nothing is queued here without a credit and a connection,
// but for frames that are sent again.
//
// # Bulk
//
//	Get       Reads of at most 1 MiB, as many at a time as negotiated (ORD), the Gets
//	          to one peer in turn
//	Put       Writes, and a marker message behind them: its acknowledgement says that
//	          they are in place (RFC 5040 section 5.5: a Write alone says nothing)
//	FetchAdd  a message to the owner, which is delivered exactly once
//
// interruption.go says what a lost connection does to them. Memory is registered
// by Expose, and for the time of an operation, wherever it lies: bytes travel from the
// sender's slice or Buffer straight into the receiver's. The arena is not registered
// by the chunk, since for a provider in software a registration is an entry in a table;
// one that pins pages would do it in its Register, which sees the same addresses again.
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
//	                    than Config.Farewell
//	idle (Config.Idle)  BYE, and a new connection with the next message
//	lost connection     another one, for Config.GiveUp; then the peer is down
//	nobody listens      the peer is down: at once where the address is this host's own,
//	                    else after Config.Absence, or some attempts if it was met. A peer
//	                    that was never met may have ended in order; nobody can tell
//	no answer           the peer is down after Config.GiveUp; it is waited for where it is
//	                    Config.Supervised and its system takes requests: it was stopped
//	MarkDown            its connections are read to their end, which its system sends, for
//	                    at most Config.Departure; then the peer is down
//	nonsense            the peer is down with transport.ErrDamaged
//
// # Strangers
//
// Garbage and half-open connections are the provider's, which drops them by
// deadline and cap. A request whose record does not verify is refused with its reason
// before an actor of a peer hears of it, and counted; the first one of either is logged.
// A refusal that the peer does not prove is counted, too, and is the end of one attempt.
package rdma

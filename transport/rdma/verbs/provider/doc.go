// Package provider is what package verbs asks of a provider of RDMA, and the plain types
// that both speak: iWARP in user space, the kernel's adapters through uverbs and rdma_cm, a
// network in memory for tests. A consumer needs package verbs alone.
//
//	package verbs   states, parameters, order, flushing, events, waiting
//	---------------------------------------------------------------------------
//	calls down      Provider, Device, ProtectionDomain, SharedReceiveQueue,
//	                QueuePair, ServicePoint, Handshake
//	calls up        Adapter, Sends, Receives, Upcalls, ServicePointConfig.Arrived
//
// # Work
//
// Requests and an endpoint's own receives are taken by the queue pair, with [Sends.Next] and
// [Receives.Next], when it can use them. A stack in user space takes a request when the
// socket has room and a receive when a message begins. An adapter takes all there is, at
// once, and posts it: Number of a [Request] or [Receive] is meant as its wr_id. Receives of a
// shared queue are handed over beforehand, with [SharedReceiveQueue.Post], and any queue pair
// of it may use any of them.
//
// What is done is reported to Sends and Receives of the endpoint: requests in any order, or
// in the order of posting up to a number, which is what one completion of an adapter means
// that does not signal each request ([Sends.DoneBefore]); receives in the order of the
// messages. Package verbs makes the consumer's completions of it, in order, and flushes what
// is not done when the connection ends. Entries of an adapter that belong to a queue pair
// which has ended are dropped.
//
// # Completion queues
//
// Those of package verbs are lists in memory, which also hold connection events; a provider
// does not see them. An adapter's are its device's own matter: the device knows from
// MaxRequests and MaxReceives of each [QueuePairConfig], and from MaxReceives of a shared
// receive queue, how many entries can be outstanding, and makes queues that hold them all, so
// that none overflows; what it has no room for it refuses when a queue pair is made. Few
// queues for many queue pairs are better than one for each, because every Progress polls all
// of them.
//
// # Locking
//
// An adapter has one lock. All methods are called under it, except those of which it is said
// otherwise: [Progress].Sleep, and Register and Deregister of a [ProtectionDomain], because
// pinning memory is slow. Methods called under the lock do not block. Upcalls are made under
// it, from within a method of the provider, and do not call the provider back. So a provider
// needs neither a lock nor a goroutine.
//
// # Out of scope
//
// Queue pairs are connected and reliable. Datagrams (UD), and with them multicast and address
// handles, are out of scope; so are memory windows, XRC and TM.
//
// Unstable: any release may change this package, also after v1.
package provider

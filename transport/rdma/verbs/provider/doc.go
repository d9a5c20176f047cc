// Package provider has the interfaces that a provider of RDMA implements for package verbs, and the
// plain types that both use. There are four providers: iWARP in user space (package iwarp), the
// kernel's adapters through uverbs and rdma_cm (package kernel), a network in memory for tests
// (package verbstest), and a device almost without cost for benchmarks (package nulldevice). A
// consumer needs only package verbs.
//
//	package verbs   states, parameters, order, flushing, events, waiting
//	---------------------------------------------------------------------------
//	calls down      Provider, Device, ProtectionDomain, SharedReceiveQueue,
//	                QueuePair, ServicePoint, Handshake
//	calls up        Adapter, Sends, Receives, Upcalls, ServicePointConfig.Arrived
//
// # Work
//
// A queue pair takes requests and the endpoint's own receives, with [Sends.Next] and
// [Receives.Next], when it can use them. A protocol stack in user space takes a request when the
// socket has room, and a receive when a message begins to arrive. A hardware adapter takes all
// requests and receives at once and posts them. The Number of a [Request] or [Receive] is meant to
// be used as the wr_id of the adapter. Receives of a shared receive queue are passed to the
// provider with [SharedReceiveQueue.Post] before they are used. Every queue pair that is attached
// to the shared receive queue may use each of these receives.
//
// A queue pair reports completed work to Sends and Receives of its endpoint. It reports requests
// one by one in any order, or with [Sends.DoneBefore] all requests below a number. DoneBefore is
// for adapters that do not signal each request: there one completion stands for several requests.
// The queue pair reports receives in the order of the messages. From these reports, package verbs
// makes the consumer's completions, in order. When the connection ends, package verbs flushes the
// work that is not done. Completions that an adapter reports for a queue pair that has ended are
// dropped.
//
// # Completion queues
//
// The completion queues of package verbs are lists in memory, which also hold connection events. A
// provider does not see these queues. The device itself manages the completion queues of its
// hardware. From MaxRequests and MaxReceives of each [QueuePairConfig], and from MaxReceives of
// each shared receive queue, the device knows how many entries can be outstanding. It makes queues
// that can hold all these entries, so that no queue overflows, and refuses a queue pair for which
// it has no room. A few queues for many queue pairs are better than one queue for each queue pair,
// because every Progress polls all queues.
//
// # Locking
//
// An adapter has one lock. All methods of a Device and of its objects are called with the lock held,
// except methods whose comment says otherwise. [Progress].Sleep is called without the lock. Register
// and Deregister of a [ProtectionDomain] are also called without the lock, because pinning memory is
// slow. Methods called with the lock held do not block, except for a short, bounded time. Upcalls are
// made with the lock held, from within a method of the provider, and do not call the provider back. A
// provider therefore needs neither a lock nor a goroutine.
//
// # Out of scope
//
// Queue pairs are connected and reliable. The package does not support datagrams (UD) with
// multicast and address handles, memory windows, XRC and TM.
//
// Unstable: any release may change this package, also after v1.
package provider

// Package verbs holds the nouns of uDAPL 1.2 and librdmacm: adapter, protection
// domain, memory region, completion queue, endpoint, shared receive queue,
// listener and connection request, with the connection model of the manual pages
// dat_ep_create, dat_ep_connect, dat_cr_accept, rdma_connect and rdma_accept.
// docs/connection-model.md lists every statement of those pages and its test.
//
// # Two sides
//
// A consumer uses the types of this package: [Open] gives an [Adapter], from which the
// rest is made. What a provider implements, and the plain types that both sides speak, are
// in package provider; those that a consumer needs have their names here, too. Providers
// only move bytes. All rules of the pages for states, parameters, events, completion order,
// flushing, limits and wakeups are implemented once, here, between the two.
//
//	consumer      Adapter  Endpoint  CompletionQueue  Listener  ConnectionRequest
//	------------------------------------------------------------------------------
//	this package  state machine, work queues, checks, events, waiting: one lock
//	------------------------------------------------------------------------------
//	provider      Device   QueuePair  SharedReceiveQueue  ServicePoint  Handshake
//	  takes work from Sends and Receives, reports to them and to Upcalls
//
// A consumer of today's kind, such as package rdma, needs endpoints, completion queues,
// shared receive queues, listeners and requests with private data. The rest of the pages,
// which only verbstest and other users of the pages' model call, is marked as "Of the pages":
// [Endpoint.Modify], [Endpoint.DupConnect], reserved service points, and the completion flags
// other than CompletionThreshold.
//
// Datagrams (UD) are out of scope, see package provider.
//
// # One lock
//
// An adapter has one lock. Every method of a consumer type takes it once, and every
// method of a provider is called under it, except Sleep, Register and Deregister: memory is
// pinned while others go on. A provider therefore needs no lock and no goroutine of its own,
// and makes upcalls only while one of its methods is called. No upcall calls the provider
// back. Goroutines that must not contend for this lock open an adapter each.
//
// # Progress
//
// The consumer's goroutines make progress. [CompletionQueue.Poll] returns queued
// entries; when there are none, it calls the device's Progress on the caller's goroutine.
// Posting starts the request on the caller's goroutine, too. There is no other thread:
// an endpoint whose consumer neither polls nor waits makes no progress and does not time
// out. [CompletionQueue.Wait] sleeps in the kernel through its Sleep.
//
// # Ownership of memory
//
//	what                               who may touch it, until when
//	WorkRequest, ReceiveRequest, list  the caller; copied when the post returns
//	bytes of a posted segment          the provider, until the request completes;
//	                                   those of an inline request are copied by the post
//	PrivateData passed in              the caller; copied when the call returns
//	PrivateData of an Event            the consumer, without end
//	a registered region                peers too, as its access rights say, until
//	                                   MemoryRegion.Close returns
//
// Unstable: any release may change this package, also after v1.
package verbs

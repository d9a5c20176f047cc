// Package verbs offers the objects of the interfaces uDAPL 1.2 and librdmacm: adapter, protection
// domain, memory region, completion queue, endpoint, shared receive queue, listener and connection
// request. These objects have the connection model of the manual pages dat_ep_create,
// dat_ep_connect, dat_cr_accept, rdma_connect and rdma_accept ("the pages").
// docs/connection-model.md lists every statement of the pages with the test that checks the
// statement.
//
// # Two sides
//
// A consumer uses the types of this package: [Open] returns an [Adapter], from which all other
// objects are made. Package provider has the interfaces that a provider implements and the plain types
// that both sides use. The types that a consumer needs have aliases in package verbs. Providers
// only make connections and move bytes. This package is between consumer and provider. It implements,
// once for all providers, the rules of the pages for states, parameters, events, completion order,
// flushing, limits and wakeups.
//
//	consumer      Adapter  Endpoint  CompletionQueue  Listener  ConnectionRequest
//	------------------------------------------------------------------------------
//	this package  state machine, work queues, checks, events, waiting: one lock
//	------------------------------------------------------------------------------
//	provider      Device   QueuePair  SharedReceiveQueue  ServicePoint  Handshake
//	  takes work from Sends and Receives, reports to them and to Upcalls
//
// Some features exist only because the pages define them: [Endpoint.Modify], [Endpoint.DupConnect],
// reserved service points, and the completion flags other than CompletionThreshold. A consumer such
// as package rdma does not need these features. In this module, only package verbstest and the tests
// of package verbs use them.
//
// Datagrams (UD) are out of scope, see package provider.
//
// # One lock
//
// An adapter has one lock. Most methods of the consumer types take this lock once per call, and a few
// take it twice or not at all. The methods of a device and of its objects are called with the lock
// held, except those whose comment says otherwise. Sleep, Register and Deregister are called without
// the lock, so that other calls can proceed during a sleep and while memory is pinned. A provider
// therefore needs no lock and no goroutine of its own, and makes upcalls only from within its methods.
// No upcall calls the provider back. Goroutines that must not contend for this lock can open an adapter
// each.
//
// # Progress
//
// The consumer's goroutines make progress. [CompletionQueue.Poll] returns queued entries. If no
// entries are queued, Poll first calls the device's Progress on the caller's goroutine. A post also
// starts the request on the caller's goroutine. Of the goroutines in [CompletionQueue.Wait], one sleeps
// in the kernel, by a call of the device's Sleep, and the others wait for it. While a queue is armed
// ([CompletionQueue.Arm]), a goroutine of the adapter makes progress, unless a goroutine of the
// consumer sleeps in its place ([Adapter.Attend], [Adapter.Doze]). While no queue is armed, there is no
// progress thread: an endpoint whose consumer neither polls nor waits makes no progress, and its
// connection attempt does not time out.
//
// # Ownership of memory
//
//	memory                             who may access it, until when
//	WorkRequest, ReceiveRequest, list  the caller; the post copies it before it returns
//	bytes of a posted segment          the provider, until the request completes;
//	                                   the post copies the bytes of an inline request
//	PrivateData passed in              the caller; the call copies it before it returns
//	PrivateData of an Event            the consumer, without a time limit
//	a registered region                also peers, within its access rights, until
//	                                   MemoryRegion.Close returns
//
// Unstable: any release may change this package, also after v1.
package verbs

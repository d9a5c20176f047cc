// Package rdmacm makes connections of the kernel's RDMA devices: it speaks the ABI of
// /dev/infiniband/rdma_cm (linux/rdma/rdma_user_cm.h, version 4), which librdmacm wraps in
// C, for InfiniBand, RoCE and iWARP alike. It moves no data and makes no queue pairs.
//
//	c, err := rdmacm.Open()
//	id, err := c.Create(mine)
//	err = id.ResolveAddress(netip.AddrPort{}, remote, time.Second)
//	for poll(c.Descriptor(), POLLIN) {
//		var e rdmacm.Event
//		for more, err := c.Next(&e); more; more, err = c.Next(&e) { ... e.ID.Context ... }
//	}
//
// # Order
//
//	active side                          passive side
//	ResolveAddress  -> AddressResolved   Bind, Listen
//	ResolveRoute    -> RouteResolved
//	Connect         ------------------>  ConnectRequest (Event.Request)
//	                                     Accept or Reject
//	ConnectResponse    <---------------  InfiniBand, RoCE
//	Accept(nil)        --------------->  Established
//	or Established     <---------------  Established, on iWARP
//	Disconnect         --------------->  Disconnected
//	Disconnected       <---------------  Disconnect
//
// On InfiniBand and RoCE the active side's connection stands when its Accept has succeeded:
// no event says so (librdmacm makes one). The end of a connection is said to the side that
// calls Disconnect when the other one has called it, too, or has gone.
//
// An ID that is not needed any more is destroyed in any state, also after an error.
//
// # Events
//
// Nothing waits: what an operation brings about is an Event, which Next returns. Events
// own their memory. The kernel counts the events it has reported of an id and librdmacm
// defers the end of an id until the program has acknowledged each; here the numbers by
// which the kernel names ids (uids) are never used again, so that an event that another
// goroutine has read while its id was destroyed is found to be of no id, and dropped. A
// connection request that is dropped with its listener is refused.
//
// # Layouts
//
// Commands and answers are bytes at fixed offsets, the same on every 64-bit machine. What
// a kernel does not fill in (an older one knows less) reads as zero.
package rdmacm

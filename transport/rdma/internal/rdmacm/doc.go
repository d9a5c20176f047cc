// Package rdmacm makes connections between RDMA devices of the kernel: InfiniBand, RoCE and iWARP.
// It uses the ABI of /dev/infiniband/rdma_cm directly (linux/rdma/rdma_user_cm.h, version 4), as
// librdmacm does in C. It moves no data and makes no queue pairs.
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
// On InfiniBand and RoCE the connection is established for the active side when its Accept has
// succeeded: the kernel reports no event for this (librdmacm synthesizes one). The side that calls
// Disconnect gets the event Disconnected when the other side has also called Disconnect or has
// ended.
//
// The caller has to destroy each ID that it does not need any more. An ID can be destroyed in any
// state, also after an error.
//
// # Events
//
// The result of an operation that depends on the network or on the peer is an Event, which Next
// returns. The operation does not wait for the Event. Only Connect on siw, and Destroy, can block (see
// ID). An Event shares no memory with the channel.
//
// One goroutine may read an event while another one destroys the id of the event. But an event of a
// destroyed id must not reach the program. librdmacm solves this problem by a count: it defers the
// end of an id until the program has acknowledged each event that the kernel has reported for the
// id. This package uses the uids instead. A uid is the number that the program gives to an id. The
// kernel names ids in events by uids, and this package never uses a uid again. So for an event of
// a destroyed id, Next does not find the id, and drops the event. If the dropped event is a
// connection request to a destroyed listener, Next refuses the request.
//
// # Layouts
//
// Commands and answers are bytes at fixed offsets, which are the same on every 64-bit machine.
// Older kernels have shorter answers. A field that the kernel does not fill in reads as zero.
package rdmacm

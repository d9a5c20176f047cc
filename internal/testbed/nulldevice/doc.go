// Package nulldevice is an RDMA provider whose device has almost no cost. Every request is executed while it is
// posted. The request copies from the sender's memory to the receiver's, and its completion is queued at
// once. The purpose of the package is measurements: with this provider, they show the cost of the copy and of
// the code above the provider.
//
// The provider behaves like an adapter. It takes every posted request immediately. A signalled request has a
// completion of its own. An unsignalled request completes with the next signalled request. The provider also
// takes every receive immediately, whether it was posted to an endpoint or to a shared receive queue. A message
// that finds no posted receive breaks the connection, as on iWARP. Adapters of one Fabric can connect to each
// other. The package starts no goroutines, and uses no timers and no system calls except to sleep while it is
// idle.
package nulldevice

// Package nulldevice is an RDMA provider whose device costs next to nothing: every request is
// carried out while it is posted, by a copy from the sender's memory to the receiver's, and its
// completion is in a ring at once. What a message costs on it beside that copy is the cost of
// the code above the provider, which is what it is for.
//
// It behaves like an adapter: it takes all requests at once, completes those that are signalled,
// and others with the next of these; receives of a shared queue are posted beforehand. A message
// that finds no receive breaks the connection, as on iWARP. Adapters of one Fabric reach each
// other. There are no goroutines, no timers and no system calls.
package nulldevice

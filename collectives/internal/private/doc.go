// Package private reads the private memory of other processes of a node by
// process_vm_readv(2). It is separate from package node, which has no code for one operating
// system, and from transport/shm, which package collectives does not import: a transport moves
// bytes when its engine polls, but a collective operation copies them during the call.
package private

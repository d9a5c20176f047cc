// Package private reads the private memory of other processes of a node by process_vm_readv(2). It is
// separate from package node, because package node has no code for a particular operating system. It
// is separate from package transport/shm, which package collectives does not import: a transport
// moves bytes when its engine polls, whereas a collective operation copies bytes during the call.
package private

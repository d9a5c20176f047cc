// Package private reads the private memory of other processes of a node by
// process_vm_readv(2). It is apart from package node, which is pure, and from
// transport/shm, below which no collective lies: a transport moves bytes when its
// engine polls, a collective copies in the call.
package private

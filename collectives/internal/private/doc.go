// Package private reads the private memory of other processes of a node by
// process_vm_readv(2). It is separate from package node, which is pure, and from
// transport/shm, which collectives do not import: a transport moves bytes when its engine
// polls, a collective operation copies during the call.
package private

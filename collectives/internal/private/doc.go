// Package private reads the private memory of other processes of a node by process_vm_readv(2). It is
// separate from package node, because package node has no code for a particular operating system.
// Package collectives does not use package transport/shm for such reads, because a collective operation
// copies bytes during its call. A transport moves bytes when its engine polls.
package private

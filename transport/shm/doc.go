// Package shm is the transport between ranks of one node: shared memory.
//
// # Memory
//
// A [Node] is the memory of all ranks of a node. Each rank owns a range of it:
// a control area (header, inbox, rings, staging; see layout.go) and the arena,
// which is the rest. Between processes the node is one sparse memfd that every
// rank maps whole; for ranks that are goroutines of one process it is heap
// memory, which the race detector sees.
//
// # Lanes
//
// Small messages of one pair travel in one ordered lane. It begins in the
// receiver's inbox, a ring for many producers. After some messages the sender
// takes one of the receiver's few rings for itself, says so by a record that is
// its last in the inbox, and goes on there. A ring is given back the same way.
// So memory grows with the ranks, not with the pairs.
//
//	                 inbox (all peers)          ring (one peer)
//	write a message  claim a slot by CAS        one store
//	cache lines      index, data, tail          one up to 32 bytes of payload
//	read a message   one load per poll          one load per poll
//
// # Bulk
//
// Get and Put copy straight from or to the arena of the peer when the key lies
// there, else by process_vm_readv and process_vm_writev where a probe shows that
// they work, else through staging buffers that the two sides' Polls pass to each
// other. A Get longer than some pages goes one of three ways, chosen by measuring
// what each took for its size (tuner.go):
//
//	alone   the reader copies with process_vm_readv
//	shared  the owner, if it polls, copies from the back with process_vm_writev
//	piped   the owner, if it polls, fills staging buffers and the reader empties
//	        them; what the owner does not take the reader copies directly
//
// All three end without the owner's help.
//
// The two system calls name a process by its number, which the kernel gives away again
// when the process was reaped. A word of random bits in the private memory of a peer
// shows that the number still names the peer: after what is read, before what is
// written. Nothing is copied that way once the loss of the peer is known.
//
// # Waking
//
// A sender reads the receiver's alert word after publishing. The receiver sets
// it, makes every processor that runs a rank pass a barrier (membarrier), and
// looks into its queues once more before it sleeps, so a sender pays a load and
// no fence. Who finds a rank armed rings it, and then says so to the others in the
// same word. Where membarrier is not to be had, senders publish with a sequentially
// consistent store instead.
//
// # Stopped or killed in between
//
// What a rank does in shared memory takes several steps, and it may be stopped or
// killed between any two. The loss of a killed rank is reported by MarkDown.
//
//	between these two steps               until it goes on             when it was killed
//	inbox: claim, move the tail           others move the tail         the same
//	inbox: claim, publish                 the inbox is held up, rings  skipped
//	                                      are not
//	inbox or ring: publish, ring the bell the message is not seen by   the loss wakes the
//	                                      a sleeper                    sleeper
//	bell: count the ring, wake; then      the next sender rings        the same
//	clear the armed bit
//	ring: take it, say so in the inbox    nobody has it                free
//	ring: write, publish                  no record                    no record
//	ring: give it back (one record)       -                            free
//	reader: make room, ring the writer    who has no room waits for    the loss wakes it
//	                                      it anyway
//	shared Get: claim a chunk, say done   the Get waits, as memory     fails with the loss
//	                                      may still be written
//	staging: take a ticket, answer        the piece waits              fails with the loss
//	listing: state 0, memory, state       not exposed                  fails with the loss
//	joining: identity, state              has not joined               has not joined
//
// # Distrust
//
// What peers can write is loaded once, checked, then used. A ring that holds
// what no correct peer writes there ends the lane of that peer with ErrDamaged. What
// such a peer may still write to is not used by others before it was reaped.
package shm

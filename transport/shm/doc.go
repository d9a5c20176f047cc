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
// claims one of the receiver's few rings, announces it by its last record in the
// inbox, and continues in the ring. A ring is released the same way. So memory grows
// with the ranks, not with the pairs.
//
//	                 inbox (all peers)          ring (one peer)
//	write a message  claim a slot by CAS        one store
//	cache lines      index, data, tail          one up to 32 bytes of payload
//	read a message   one load per poll          one load per poll
//
// # Bulk
//
// Get and Put copy directly from or to the peer's arena when the key names arena
// memory, else by process_vm_readv and process_vm_writev where a probe shows that
// they work, else through staging buffers that the Polls of both sides pass to each
// other. A Get longer than some pages uses one of three methods, chosen by the times
// measured for its size (tuner.go):
//
//	alone   the reader copies with process_vm_readv
//	shared  the owner, if it polls, copies from the back with process_vm_writev
//	piped   the owner, if it polls, fills staging buffers and the reader empties
//	        them; what the owner does not take the reader copies directly
//
// All three end without the owner's help.
//
// The two system calls name a process by its ID, which the kernel can reuse after the
// process was reaped. A word of random bits in the private memory of a peer shows that
// the ID still names the peer: it is checked after a read and before a write. Once the
// loss of the peer is known, these calls are not used.
//
// # Waking
//
// A sender reads the receiver's alert word after publishing. The receiver sets
// it, forces a memory barrier on every processor that runs a rank (membarrier), and
// checks its queues once more before it sleeps, so a sender needs a load and no fence.
// A sender that finds the rank armed rings it, and then marks the same word as rung for
// the other senders. Where membarrier is not available, senders publish with a
// sequentially consistent store instead.
//
// # Stopped or killed in between
//
// An operation of a rank in shared memory takes several steps, and the rank may be
// stopped or killed between any two. The loss of a killed rank is reported by MarkDown.
//
//	between these two steps               until it goes on             when it was killed
//	inbox: claim, move the tail           others move the tail         the same
//	inbox: claim, publish                 the inbox is held up, rings  skipped
//	                                      are not
//	inbox or ring: publish, ring the bell the message is not seen by   the loss wakes the
//	                                      a sleeper                    sleeper
//	bell: count the ring, wake; then      the next sender rings        the same
//	clear the armed bit
//	ring: claim it, announce it           unused                       free
//	ring: write, publish                  no record                    no record
//	ring: give it back (one record)       -                            free
//	reader: make room, ring the writer    the writer polls or sleeps   the loss wakes it
//	                                      for a bounded time
//	shared Get: claim a chunk, say done   the Get waits, as memory     fails with the loss
//	                                      may still be written
//	staging: take a ticket, answer        the piece waits              fails with the loss
//	listing: state 0, memory, state       not exposed                  fails with the loss
//	joining: identity, state              has not joined               has not joined
//
// # Distrust
//
// Memory that peers can write is loaded once, checked, then used. A ring with contents
// that no correct peer writes ends the lane of that peer with ErrDamaged. Memory that
// such a peer may still write to is not reused before the peer was reaped.
//
// Unstable: any release may change this package, also after v1.
package shm

// Package shm is the transport between ranks of one node: shared memory.
//
// # Memory
//
// A [Node] is the memory of all ranks of a node. Each rank owns a range of it: a control area
// (header, inbox, rings, staging, flight recorder; see layout.go) and the arena, which is the rest of the range.
// If the ranks are processes, the node is one sparse memfd, and every rank maps the whole memfd. If
// the ranks are goroutines of one process, the node is heap memory, so that the race detector
// checks the accesses.
//
// # Lanes
//
// Small messages from one rank to another travel in one ordered lane. A lane begins in the receiver's
// inbox, a circular queue with many producers. After some messages, or on a small node before the first
// message (prepare.go), the sender claims one of the receiver's few rings, announces the ring by the
// lane's last record in the inbox, and continues in the ring. When the sender gives the ring back, the
// lane's last record in the ring announces that the lane continues in the inbox and that the ring is
// free. Because the number of rings of a receiver is fixed, the memory grows with the number of ranks,
// and not with the number of pairs of ranks.
//
//	                 inbox (all peers)          ring (one peer)
//	write a message  claim a slot by CAS        one store
//	cache lines      index, data, tail          one, for up to 32 bytes of payload
//	read a message   one load per poll          one load per poll
//
// # Bulk
//
// If the key names arena memory, Get and Put copy directly from or to the peer's arena.
// For other memory (private memory) they use process_vm_readv and process_vm_writev, if a probe of
// process_vm_readv succeeds, no later call is refused, and the owner lists the exposed slice (exposed.go). An owner
// lists up to 512 slices at a time. Otherwise Get and Put copy through staging buffers, which both sides fill and
// empty in their Polls. Between ranks of one process, Get and Put copy private memory directly. If the calls are used,
// a Get of 32 KiB or more from private memory uses one of three methods, chosen by the times measured for its
// size (tuner.go):
//
//	alone   the reader copies with process_vm_readv
//	shared  (from 64 KiB on) the owner, if it polls, also copies, from the back with
//	        process_vm_writev
//	piped   the owner, if it polls, fills staging buffers and the reader empties
//	        them; the reader copies directly the pieces that the owner does not fill
//
// With each method, a Get also completes if the owner does not poll. If the owner is stopped in the
// middle of its copy, the Get waits for it.
//
// The two system calls name a process by its ID, which the kernel can reuse after the process was
// reaped. A word of random bits in the private memory of a peer proves that the ID still names the
// peer. The word is checked after a read and before a write, unless the last check was less than 10 ms
// ago. After the loss of the peer is known, this rank copies no data by these calls.
//
// # Waking
//
// After a sender has published a record, it reads the receiver's alert word (layout.go). Before the
// receiver sleeps, it sets the armed bit of the alert word. Then the receiver forces a memory barrier on every
// processor that runs a rank (membarrier), and checks its queues once more. Therefore a sender needs
// only a load, and no fence. A sender that finds the receiver armed rings the receiver's doorbell,
// and then clears the armed bit, so that other senders do not ring. Where membarrier is not
// available, senders publish with a sequentially consistent store.
//
// # Stopped or killed in between
//
// An operation of a rank in shared memory takes several steps, and the rank may be stopped or
// killed between any two steps. The loss of a killed rank is reported by MarkDown.
//
//	between these two steps               while it is stopped          when it is killed
//	inbox: claim, move the tail           others move the tail         others move the tail
//	inbox: claim, publish                 the inbox is blocked, rings  the claim is skipped
//	                                      are not
//	inbox or ring: publish, ring the bell a sleeping receiver does     the loss wakes the
//	                                      not see the message          receiver
//	bell: count the ring, wake; then      the next sender rings        the next sender rings
//	clear the armed bit
//	ring: claim it, announce it           the ring is unused           the ring is freed
//	ring: write, publish                  there is no record           there is no record
//	ring: give it back (one record)       -                            the ring is freed
//	reader: make room, ring the writer    the writer polls or sleeps   the loss wakes the
//	                                      for a bounded time           writer
//	shared Get: claim a chunk, mark it    the Get waits, because its   the Get fails with
//	as done                               memory may be written        the loss
//	staging: take a ticket, answer        the piece waits              the operation fails
//	                                                                   with the loss
//	listing: clear the entry, fill it     the memory is not exposed    the operation fails
//	                                                                   with the loss
//	joining: write identity, write state  the rank has not joined      the rank has not joined
//
// # Distrust
//
// If peers can write a word, a rank loads the word only once, checks the loaded value, and then
// uses this value. If a ring has contents that a correct peer never writes, the lane of its writer
// ends with ErrDamaged. Memory to which this writer may still write is not reused before the writer
// is reaped. If the inbox has such contents, Poll returns ErrDamaged and no longer reads the inbox.
//
// Unstable: any release may change this package, also after v1.
package shm

// Package rdmap implements the Remote Direct Memory Access Protocol (RFC 5040) above DDP. It
// defines the kinds of messages, the kind of segment that carries each kind of message, the Read
// Request and the Terminate message. Its queues limit the number of outstanding Reads to the
// negotiated depths.
//
// The package does no I/O: it has no sockets, goroutines or clocks.
//
//	message        opcode  segment   queue  carries
//	Write          0x0     tagged    -      data
//	Read Request   0x1     untagged  1      28 octets, see ReadRequest
//	Read Response  0x2     tagged    -      data
//	Send           0x3     untagged  0      data
//	Send+Inv       0x4     untagged  0      data; the header names an STag to invalidate
//	Send+SE        0x5     untagged  0      data; asks for an event
//	Send+SE+Inv    0x6     untagged  0      both
//	Terminate      0x7     untagged  2      see Terminate
//
// The opcodes of RFC 7306 (immediate data and atomics, 0x8 to 0xb) are not implemented. If a segment
// arrives with one of these opcodes, or with an opcode that no RFC defines, this side sends the
// Terminate message for an unexpected opcode.
//
// # Reads
//
// A requester may have ORD Reads outstanding, and a responder serves IRD Reads at a time (RFC 5040
// section 6.1). [OutboundQueue] is the requester's queue, and matches responses to requests.
// [InboundQueue] is the responder's queue. Both keep the order, because Reads are answered in the
// order of their requests (RFC 5040 section 5.5 rule 20).
//
// Unstable: any release may change this package, also after v1.
package rdmap

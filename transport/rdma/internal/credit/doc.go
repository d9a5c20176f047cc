// Package credit ensures that two ranks never send each other more small frames than they have
// posted receives. It also prevents loss and duplication of frames when a new connection replaces a
// broken one. The package only computes with numbers: it has no sockets, no clocks, and no
// allocations after New.
//
// iWARP has no RNR (receiver not ready): a Send that finds no posted receive ends the connection.
// So a rank sends an eager frame only if it has a credit. Its peer grants a credit only for a
// posted receive that is not reserved for control frames.
//
// # Frames
//
//	frame    needs               is counted or limited by
//	eager    a credit, a slot    sequence number (of the pair), number of frames (of the connection)
//	update   a reserved receive  at most UpdateReserve are unconfirmed
//	goodbye  a reserved receive  one BYE and one BYE-ACK per connection
//
// Every frame carries a Word. The Word says which frames the sender of the Word has received, and
// how many frames the other side may send.
//
//	bits    field      meaning
//	48..63  sequence   of an eager frame; 0 in other frames
//	32..47  ack        all eager frames before this sequence number were delivered
//	16..31  limit      the maximum number of eager frames on this connection
//	 0..15  confirmed  updates received on this connection
//
// All fields are serial numbers mod 2^16. sequence and ack belong to the pair of ranks
// and survive connections; limit and confirmed start anew with each connection.
//
// # Recovery
//
// An eager frame occupies its slot until it is acknowledged. On the next connection all frames
// after the last acknowledged one are sent again, in order. A side sends none of them before the
// first frame of its peer has arrived (Flow.Next), because this frame acknowledges those that the
// peer has received before. The receiver discards frames that it has received before. One-sided
// operations are not frames: interruption.go in transport/rdma describes the effect of a lost
// connection on them.
//
// # No deadlock
//
// Every frame that a receiver sends back returns credit and acknowledges frames. If the receiver
// has no frame to send, an update does both. The receiver sends the update when half of a window
// has to be returned. It also sends the update when the number of frames to acknowledge is half of
// the connection's first window or half of the sender's slots, whichever is less. An update never
// needs a credit.
//
// Each frame contains the number of updates that its sender has received, and thereby confirms
// these updates. At most UpdateReserve updates of a side are unconfirmed at a time. The last
// reserved receive is used only for an update that enables the peer to send. So a peer without
// credit or slots always gets the update that it needs. A side that waits for an acknowledgement
// may have no message to send. When such a side has received UpdateReserve updates that it has not
// confirmed, it sends an update to confirm them. Until then the other side may be unable to send
// another update.
//
// # Memory
//
// A Pool assigns receives to peers: few at first, and more to peers that use them up. It limits the
// receives so that a rank with a thousand peers stays within its budget of memory.
package credit

// Package credit limits the small frames that two ranks send each other to the posted receives. It
// also prevents loss and duplication of frames when another connection replaces a connection. The
// package only computes with numbers: it has no sockets, no clocks, and no allocations after New.
//
// iWARP has no RNR (receiver not ready): a Send that finds no posted receive ends the connection.
// So a frame is sent only against a credit, and a credit is granted only for a receive that is
// posted and not reserved for control frames.
//
// # Frames
//
//	frame    needs               counted or limited by
//	eager    a credit, a slot    sequence (of the pair) and frames (of the connection)
//	update   a reserved receive  at most UpdateReserve are unconfirmed
//	goodbye  a reserved receive  one BYE and one BYE-ACK per connection
//
// Every frame carries a Word. The Word says which frames the sender of the Word has received, and
// how many frames the other side may send.
//
//	bits    field      meaning
//	48..63  sequence   of an eager frame; 0 in other frames
//	32..47  ack        all eager frames before this sequence number were delivered
//	16..31  limit      the number of eager frames of this connection may reach this
//	 0..15  confirmed  updates received on this connection
//
// All fields are serial numbers mod 2^16. sequence and ack belong to the pair of ranks
// and survive connections; limit and confirmed start anew with each connection.
//
// # Recovery
//
// An eager frame occupies its slot until it is acknowledged. On the next connection all frames
// after the last acknowledged one are sent again, in order; the receiver discards the frames that
// it has received before. One-sided operations are not part of this: they fail when the connection
// fails.
//
// # No deadlock
//
// Every frame in the other direction returns credit and acknowledges. If no frame is sent in that
// direction, an update returns credit and acknowledges. The update is sent when half of a window
// has to be returned, or when half of the sender's slots have to be acknowledged. An update never
// needs a credit.
//
// Each frame contains the number of updates that its sender has received, which it thereby
// confirms. At most UpdateReserve updates of a side are unconfirmed at a time. The last reserved
// receive is used only for an update that enables the peer to send. So a peer without credit or
// slots always gets the update that it needs. Consider a side that waits for an acknowledgement and
// has no message to send. When this side has received UpdateReserve updates that it has not
// confirmed, it sends an update itself, because before that the other side may be unable to send
// another update.
//
// # Memory
//
// A Pool assigns receives to peers: few at first, and more to peers that use them up. It limits
// them so that a rank with a thousand peers stays within its budget.
package credit

// Package credit limits the small frames between two ranks to the posted receives, and
// prevents loss and repetition across connections.
// It is pure: numbers in, numbers out; no sockets, no clocks, no allocations
// after New.
//
// iWARP has no RNR: a Send that finds no posted receive ends the connection. So
// a frame is sent only against a credit, and a credit is granted only for a
// receive that is posted and not kept for control.
//
// # Frames
//
//	frame     needs              counted by
//	eager     a credit, a slot   sequence (of the pair) and frames (of the connection)
//	update    a reserved receive UpdateReserve may be unconfirmed
//	goodbye  a reserved receive one BYE and one BYE-ACK per connection
//
// Every frame carries a Word: what its sender has received, and what it allows.
//
//	bits    field    meaning
//	48..63  sequence of an eager frame; 0 in others
//	32..47  ack      all eager frames before this sequence number were delivered
//	16..31  limit    the number of eager frames of this connection may reach this
//	 0..15  confirmed    updates received on this connection
//
// All are serial numbers mod 2^16. Sequence and ack belong to the pair of ranks
// and survive connections; limit and confirmed start anew with each.
//
// # Recovery
//
// An eager frame keeps its slot until it is acknowledged. On the next connection
// the frames from the last acknowledgement on are sent again, in order; the
// receiver drops those that it has. One-sided operations are not part of this:
// they fail when the connection does.
//
// # No deadlock
//
// Credit is returned by every frame in the other direction, and by an update when half
// of a window is to be returned, or half of the sender's slots are to be acknowledged,
// and no frame was sent in that direction. An update never needs a credit. At most
// UpdateReserve of them are unacknowledged ("unconfirmed"); each frame says how many updates
// its sender has received ("confirmed"). The last reserved receive is used only for an
// update that allows the peer to send, so that a peer without credit or slots is never
// left without one. A peer that could send but has no message, and waits for an
// acknowledgement, answers with an update when it has received as many updates as may be
// unconfirmed: the other side may not be able to send another one.
//
// # Memory
//
// A Pool assigns receives to peers: few at first, more to peers that use them up, and
// never so many that a rank with a thousand peers exceeds its budget.
package credit

package provider

// Receive is memory for one message. The provider may use an endpoint's own receive from
// Receives.Next, and a receive of a shared receive queue from SharedReceiveQueue.Post, until it
// reports the receive as done or failed.
type Receive struct {
	// Number counts an endpoint's own receives in the order of Next, and restarts at 0
	// whenever all are done. A receive of a shared receive queue has a number below the queue's
	// MaxReceives, which another receive gets when this one is done.
	Number uint64
	// Segments are the memory to fill, in order. Some may be empty.
	Segments []Segment
	// Length is the length of the longest message that fits: the total length of Segments,
	// without the room of FlagRoom.
	Length int
	// Room is true if FlagRoom is set. The message must then begin Attributes.Headroom bytes
	// into the only segment, and the provider may write to the whole segment.
	Room bool
	// Mark is for the provider's use. It is 0 when the provider first sees the receive.
	Mark uint64
}

// Arrival describes the message, or the Write, that has used a receive.
type Arrival struct {
	// Length is the length of the message in the receive or, if Written is set, the number of
	// bytes that the Write has written.
	Length int
	// Flags are FlagSolicited, FlagInvalidate and FlagImmediate as the peer set them.
	Flags RequestFlags
	// Invalidated is the key of this adapter that the message has revoked, with FlagInvalidate.
	Invalidated uint32
	// Immediate is the number that came with FlagImmediate.
	Immediate uint32
	// Written is true if a Write with FlagImmediate took the receive. Nothing was then written
	// to the memory of the receive.
	Written bool
}

// Receives holds the endpoint's own receives, which the queue pair takes, and takes the queue
// pair's reports of received messages. The receives of an endpoint with a shared receive queue
// come from that queue instead.
type Receives interface {
	// Next takes and returns the endpoint's oldest receive that was not taken yet. It returns
	// nil if there is none. A hardware adapter takes receives when it can post them; a stack in
	// user space takes one when the first byte of a message arrives.
	Next() *Receive
	// Peek returns the receive that Next would return, or nil, without taking it.
	Peek() *Receive
	// At returns the endpoint's own receive with that number, which is taken and not done.
	At(number uint64) *Receive
	// Deliver does Next and Done in one call, for a message without flags. r is the receive
	// that Peek has returned, or a receive of the shared receive queue.
	Deliver(r *Receive, length int)
	// Done reports that a message is complete in r, a receive that was taken or that comes
	// from the shared receive queue. An endpoint's own receives must be done in the order of
	// Next.
	Done(r *Receive, a Arrival)
	// Fail reports that a message could not be received into r; Upcalls.Broken follows.
	// StatusFlushed means that the connection ended while the message was arriving. With it, a
	// provider reports those receives of a shared receive queue that a queue pair has taken
	// when it ends: before the upcall that reports the end, or within Abort. Package verbs
	// itself flushes an endpoint's own receives.
	Fail(r *Receive, s Status)
}

// SharedReceiveConfig holds the parameters of Device.NewSharedReceiveQueue.
type SharedReceiveConfig struct {
	Domain ProtectionDomain
	// MaxReceives bounds the posted receives, MaxSegments the segments of each receive.
	MaxReceives, MaxSegments int
}

// SharedReceiveQueue holds receives for the queue pairs made with it. The provider decides which
// queue pair takes which receive, and in which order.
type SharedReceiveQueue interface {
	// Post posts a receive. r stays valid until it is reported to Receives of the endpoint
	// whose queue pair has used it.
	Post(r *Receive)
	// Close frees the queue. No queue pair uses it any more, and its receives must not be
	// accessed any more.
	Close()
}

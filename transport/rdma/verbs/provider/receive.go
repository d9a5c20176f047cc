package provider

// Receive is memory for one message. The provider may use a receive until it reports the receive as
// done or failed. The use begins when Receives.Next or Receives.Peek returns an endpoint's own receive, and with
// SharedReceiveQueue.Post for a receive of a shared receive queue.
type Receive struct {
	// Number counts an endpoint's own receives in the order of Next, and restarts at 0 when all
	// receives are done. A receive of a shared receive queue has a number below the queue's
	// MaxReceives. Another receive may get this number when the receive is done.
	Number uint64
	// Segments are the memory to fill, in order. Some may be empty.
	Segments []Segment
	// Length is the length of the longest message that fits: the total length of Segments,
	// without the room of FlagRoom.
	Length int
	// Room is true if FlagRoom is set. The message must then begin Attributes.Headroom bytes
	// into the only segment, and the provider may write to the whole segment.
	Room bool
}

// Arrival describes the message, or the Write, that has used a receive.
type Arrival struct {
	// Length is the length of the message in the receive. If Written is true, Length is the number
	// of bytes that the Write has written.
	Length int
	// Flags are FlagSolicited, FlagInvalidate and FlagImmediate as the peer set them. If Attributes.HidesFlags
	// is true, only FlagImmediate is reported.
	Flags RequestFlags
	// Invalidated is the key of this adapter that the message has invalidated. It is valid if Flags
	// contains FlagInvalidate.
	Invalidated uint32
	// Immediate is the number that the message carried. It is valid if Flags contains FlagImmediate.
	Immediate uint32
	// Written is true if a Write with FlagImmediate used the receive. Such a Write does not change
	// the memory of the receive.
	Written bool
}

// Receives holds the endpoint's own receives. The queue pair takes receives from it, and reports
// received messages to it. The receives of an endpoint with a shared receive queue come from that
// queue instead.
type Receives interface {
	// Next takes and returns the endpoint's oldest receive that was not taken yet. It returns nil if
	// there is no such receive. A hardware adapter takes receives when it can post them. A protocol
	// stack in user space takes a receive when a message arrives.
	Next() *Receive
	// Peek returns the receive that Next would return, or nil, without taking it.
	Peek() *Receive
	// At returns the endpoint's own receive with this number. The receive must be taken and not
	// done.
	At(number uint64) *Receive
	// Deliver reports that a message without flags is complete in r. r is a receive of the shared
	// receive queue, or the receive that Peek has returned. In the second case, Deliver also takes r.
	Deliver(r *Receive, length int)
	// Done reports that a message is complete in r. r is a receive that was taken, or a receive of
	// the shared receive queue. An endpoint's own receives must be done in the order of Next.
	Done(r *Receive, a Arrival)
	// Fail reports that a message could not be received into r. Unless s is StatusFlushed,
	// Upcalls.Broken follows. StatusFlushed means that the connection ended before r was done. When a queue
	// pair ends, it may have taken receives of a shared receive queue that are not done. The
	// provider reports these receives with StatusFlushed. It reports them before the upcall that
	// reports the end, or within Abort. Package verbs itself flushes an endpoint's own receives.
	Fail(r *Receive, s Status)
}

// SharedReceiveConfig holds the parameters of Device.NewSharedReceiveQueue.
type SharedReceiveConfig struct {
	Domain ProtectionDomain
	// MaxReceives is the maximum number of posted receives, and MaxSegments the maximum number of
	// segments of each receive.
	MaxReceives, MaxSegments int
}

// SharedReceiveQueue holds receives for the queue pairs that are made with it. The provider decides
// which queue pair takes which receive, and in which order.
type SharedReceiveQueue interface {
	// Post posts a receive. r stays valid until it is reported to Receives of the endpoint
	// whose queue pair has used it.
	Post(r *Receive)
	// Close frees the queue. When Close is called, no queue pair uses the queue. After Close the
	// provider must not access its receives any more.
	Close()
}

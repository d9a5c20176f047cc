package provider

// Receive is memory for one message. It is one of an endpoint, from Receives.Next until it is
// done or failed, or one of a shared queue, from SharedReceiveQueue.Post on.
type Receive struct {
	// Number counts the receives of a queue pair, in the order of Next, and begins again
	// with 0 whenever all were done. Of a shared queue it is less than its MaxReceives, and
	// another receive has it when this one is done.
	Number uint64
	// Segments are the memory to fill, in order. Empty ones may be among them.
	Segments []Segment
	// Length is the longest message that fits: their total, without what Room leaves.
	Length int
	// Room says that FlagRoom is set: the message begins Attributes.Headroom bytes into
	// the only segment, all of which the provider may write to.
	Room bool
	// Mark is the provider's own; it is 0 when it sees the receive first.
	Mark uint64
}

// Arrival is a message that has used a receive.
type Arrival struct {
	// Length is how much the message has put into the receive, or how much a Write has
	// written.
	Length int
	// Flags are FlagSolicited, FlagInvalidate and FlagImmediate as the peer set them.
	Flags RequestFlags
	// Invalidated is the key of this adapter that the message has revoked.
	Invalidated uint32
	// Immediate is the number that came with FlagImmediate.
	Immediate uint32
	// Written says that a Write has taken the receive and left its memory alone.
	Written bool
}

// Receives is where the messages that reach an endpoint are reported, and where its own
// receives are taken. Those of an endpoint with a shared queue come from that queue.
type Receives interface {
	// Next takes the endpoint's oldest receive that was not taken yet, or returns nil: none
	// is posted. An adapter takes them when it can post them, a stack in user space takes one
	// when the first byte of a message arrives.
	Next() *Receive
	// Peek returns the receive that Next takes next, or nil, and leaves it.
	Peek() *Receive
	// At returns the endpoint's receive taken with that number. It is not done yet.
	At(number uint64) *Receive
	// Deliver is Next and Done of a message without flags: the receive is what Peek has
	// returned, or one of the shared queue.
	Deliver(r *Receive, length int)
	// Done says that a message is complete, in a receive taken or in one of the shared
	// queue. An endpoint's own receives are done in the order of Next.
	Done(r *Receive, a Arrival)
	// Fail says that a message could not be received; Upcalls.Broken follows. With
	// StatusFlushed it says that the connection ended while the message came: a provider
	// reports so the receives of a shared queue that an ending queue pair has taken, before
	// the upcall or, on Abort, within it. Package verbs flushes an endpoint's own receives
	// itself.
	Fail(r *Receive, s Status)
}

// SharedReceiveConfig is what a shared receive queue is made from.
type SharedReceiveConfig struct {
	Domain ProtectionDomain
	// MaxReceives is how many may be posted, MaxSegments bounds each list.
	MaxReceives, MaxSegments int
}

// SharedReceiveQueue holds receives for the queue pairs made with it. Which of them takes
// which receive, in which order, is the provider's matter.
type SharedReceiveQueue interface {
	// Post hands over a receive. It stays valid until it is reported to Receives of the
	// endpoint whose queue pair has used it.
	Post(r *Receive)
	// Close frees the queue, of which no queue pair is left. Its receives are not touched
	// any more.
	Close()
}

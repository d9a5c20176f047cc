package peering

import (
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
)

// Conn names one connection of a pair in this process, from the first attempt
// until it is gone. Numbers of active ones are given by the Machine, those of
// passive ones by the caller; neither is used again.
type Conn struct {
	// Active says that this side asked for the connection.
	Active bool
	Number uint32
}

// String is "->n" for an active connection and "<-n" for a passive one.
func (c Conn) String() string {
	if c.Active {
		return fmt.Sprintf("->%d", c.Number)
	}
	return fmt.Sprintf("<-%d", c.Number)
}

// Greeting is what the machine needs of a negotiation record.
type Greeting struct{ Incarnation, Attempt uint16 }

// EventKind says what happened.
type EventKind uint8

// The events. Those with a connection that the machine has given up are ignored.
const (
	// Tick: the time passed Deadline.
	Tick EventKind = iota
	// Want: something is to be sent. Repeating it does nothing.
	Want
	// Idle: nothing was sent or received for long and nothing is unacknowledged.
	Idle
	// Shutdown: this side ends.
	Shutdown
	// Gone: the peer is known to be dead; Err says why.
	Gone
	// Requested: an authenticated request with Greeting came in on Conn.
	Requested
	// Established: the peer accepted Conn, an active one; Greeting is the reply's.
	Established
	// Refused: the peer refused Conn; Reject says why.
	Refused
	// FirstMessage: the first message came in on Conn, a passive one, and proves that the
	// request was not recorded.
	FirstMessage
	// Lost: Conn failed or ended, in whatever state it was; Err says why, and Contact
	// how far an attempt of this side had come.
	Lost
	// Bye and ByeAck: the peer's came in on Conn. Final says that the peer ends.
	Bye
	ByeAck
)

// Contact says how far an attempt of this side came that was Lost.
type Contact uint8

const (
	// Answered says that something at the peer's address answered, if only by refusing,
	// or that the attempt failed on this side.
	Answered Contact = iota
	// Unreached says that no host took the request, as far as is known.
	Unreached
	// Unanswered says that the peer's host took the request, and the peer did not answer.
	Unanswered
	// Absent says that a host answered that nothing listens at the peer's address.
	Absent
)

// Event is one thing that happened. Fields that its kind does not name are zero.
type Event struct {
	Kind     EventKind
	Conn     Conn
	Greeting Greeting
	Reject   negotiation.Reject
	Final    bool
	Contact  Contact
	Err      error
}

// ActionKind says what to do.
type ActionKind uint8

// The actions, to be carried out in the order given.
const (
	// Dial: request Conn with Greeting. Exactly one of Established, Refused and
	// Lost may follow, or a Drop from this side.
	Dial ActionKind = iota
	// Accept: accept Conn; Greeting goes into the reply.
	Accept
	// Refuse: refuse Conn with Reject and forget it.
	Refuse
	// Use: Conn is in use from now on. An active side sends its first message.
	Use
	// Retire: Conn is not in use any more; send nothing but control on it. What
	// was not acknowledged is kept, one-sided operations fail. Err is nil when the
	// end is orderly.
	Retire
	// Drop: end Conn at once, whatever its state, and forget it.
	Drop
	// SendBye and SendByeAck: send that on Conn, with Final and with the
	// acknowledgement of all that was received.
	SendBye
	SendByeAck
	// Close: end Conn after what was sent, and forget it.
	Close
	// Restarted: the peer has a new incarnation, Greeting.Incarnation. What was
	// kept for the old one is void.
	Restarted
	// Down: the peer is given up because of Err. Ended: it said that it ends.
	// Either comes once at most and ends every operation on the peer.
	Down
	Ended
	// Finished: the Shutdown is complete. It comes once.
	Finished
	// Silent: the peer has not answered for the time For, and is not given up because
	// it is Supervised; Err says why the last attempt failed. It comes again when For has
	// doubled. Answers: it does again.
	Silent
	Answers
)

// Action is one thing to do. Fields that its kind does not name are zero.
type Action struct {
	Kind     ActionKind
	Conn     Conn
	Greeting Greeting
	Reject   negotiation.Reject
	Final    bool
	For      time.Duration
	Err      error
}

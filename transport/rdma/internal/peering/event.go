package peering

import (
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
)

// Conn identifies one connection of a pair within this process, from its request until it is
// closed. The Machine numbers the active connections, and the caller numbers the passive
// connections. No number is used for two active or for two passive connections.
type Conn struct {
	// Active says that this side requested the connection.
	Active bool
	Number uint32
}

// String returns "->n" for an active connection and "<-n" for a passive connection, where n is the
// number.
func (c Conn) String() string {
	if c.Active {
		return fmt.Sprintf("->%d", c.Number)
	}
	return fmt.Sprintf("<-%d", c.Number)
}

// Greeting has the fields of a negotiation record that the machine needs.
type Greeting struct{ Incarnation, Attempt uint16 }

// EventKind says what happened.
type EventKind uint8

// The events. The Machine ignores an event of a connection that it has given up.
const (
	// Tick: the time that Deadline has returned is reached.
	Tick EventKind = iota
	// Want: the caller needs a connection. A repeated Want has no effect.
	Want
	// Idle: the caller wants an orderly end of the connection in use, because this connection has
	// carried no data for a long time, or because another connection is to replace it.
	Idle
	// Shutdown: the rank of this side ends.
	Shutdown
	// Gone: the peer is known to be dead; Err says why.
	Gone
	// Requested: an authenticated request with Greeting came in on Conn.
	Requested
	// Established: the peer accepted Conn, an active connection. Greeting is from the reply.
	Established
	// Refused: the peer refused Conn; Reject says why.
	Refused
	// FirstMessage: the first message came in on Conn, a passive connection. The message proves
	// that the request was not a replay of a recorded request.
	FirstMessage
	// Lost: Conn failed or ended, in any state. Err says why; if Conn was a request of this side,
	// Contact says how far the request came.
	Lost
	// Bye and ByeAck: a BYE or a BYE-ACK of the peer came in on Conn. Final says that the
	// peer ends.
	Bye
	ByeAck
)

// Contact says how far a request of this side came before the event Lost ended it.
type Contact uint8

const (
	// Answered says that a process or host at the peer's address answered, possibly by a refusal.
	Answered Contact = iota
	// Unreached says that no host is known to have accepted the request.
	Unreached
	// Unanswered says that the peer's host accepted the request, but the peer did not
	// answer it.
	Unanswered
	// Absent says that a host answered that nothing listens at the peer's address.
	Absent
	// Unasked says that the attempt failed on this side, and says nothing about the peer.
	Unasked
)

// Event is one thing that happened. Fields that the comment of its kind does not name are zero.
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

// The actions. The caller carries them out in the order in which Step returns them.
const (
	// Dial: request Conn with Greeting. Exactly one of the events Established, Refused and Lost
	// follows. If the Machine drops Conn (action Drop) before this event, no event needs to
	// follow.
	Dial ActionKind = iota
	// Accept: accept Conn; Greeting goes into the reply.
	Accept
	// Refuse: refuse Conn with Reject and forget it.
	Refuse
	// Use: Conn is in use from now on. An active side sends its first message.
	Use
	// Retire: Conn is not in use any more. The caller sends only control messages on it. Messages
	// that were not acknowledged are kept for the next connection. One-sided operations in flight
	// on Conn are interrupted. Err is nil if the end is orderly.
	Retire
	// Drop: end Conn at once, in any state, and forget it.
	Drop
	// SendBye and SendByeAck: send BYE or BYE-ACK on Conn, with Final and with the acknowledgement
	// of all frames that were received.
	SendBye
	SendByeAck
	// Close: close Conn when everything that was posted on it has been sent, and forget Conn.
	Close
	// Restarted: the peer has a new incarnation, Greeting.Incarnation. State that was kept for the
	// old incarnation is not valid any more.
	Restarted
	// Down: the peer is given up because of Err. Ended: the peer announced that it ends. A Machine
	// returns at most one of Down and Ended, and only once. Both end every operation on the peer.
	Down
	Ended
	// Finished: the Shutdown is complete. Finished comes once.
	Finished
	// Silent: the peer has not answered for the time For. The peer is not given up, because it is
	// Supervised. Err says why the last attempt failed. Silent comes again when For has doubled.
	// Answers: a peer that was Silent answers again.
	Silent
	Answers
)

// Action is one thing to do. Fields that the comment of its kind does not name are zero.
type Action struct {
	Kind     ActionKind
	Conn     Conn
	Greeting Greeting
	Reject   negotiation.Reject
	Final    bool
	For      time.Duration
	Err      error
}

package actors

import (
	"errors"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"
)

// Reasons of dead letters.
var (
	// ErrUnregistered refuses a message whose type cannot travel, see Register.
	ErrUnregistered = errors.New("type is not registered, see actors.Register")
	// ErrRoute refuses a message that a router does not know where to send.
	ErrRoute = errors.New("no message for this router")
	// ErrUnknownActor says that no actor of that name appeared in time.
	ErrUnknownActor = errors.New("no actor of that name appeared")
	// ErrStopped says that the actor stopped before it took the message.
	ErrStopped = errors.New("the actor has stopped")
	// ErrMailboxFull says that the receiver takes nothing and the sender's outbox
	// is full.
	ErrMailboxFull = errors.New("mailbox and outbox are full")
	// ErrNoRank refuses an address that is no rank of this World.
	ErrNoRank = errors.New("no such rank")
	// ErrStale refuses a PID of a rank's earlier life.
	ErrStale = errors.New("the rank was restarted in the meantime")
	// ErrMessage refuses a message that an actor of this package does not take.
	ErrMessage = errors.New("the actor does not accept messages of this type")
	// ErrNoActors says that the rank has not called Of, and has no room to keep
	// more for it or has kept it for 30 s.
	ErrNoActors = errors.New("the rank has no actors: it did not call actors.Of")
)

// DeadLetter is published in the EventStream for a message that could not be
// delivered, at the rank that found out: the sender's where it can tell, else the
// receiver's.
//
//nolint:errname // the field calls it a dead letter
type DeadLetter struct {
	// PID is the addressee.
	PID *actor.PID
	// Message is what was sent; nil if it is not known here any more. A
	// *runtime.Message is released after the event.
	Message any
	// Sender is who is to get an answer, or nil.
	Sender *actor.PID
	// Reason is why.
	Reason error
}

// Error implements error, so that a DeadLetter can be returned as one.
func (d *DeadLetter) Error() string {
	return fmt.Sprintf("dead letter to %s of %T: %v", name(d.PID), d.Message, d.Reason)
}

// Unwrap returns the reason.
func (d *DeadLetter) Unwrap() error { return d.Reason }

// name is a PID in one word.
func name(pid *actor.PID) string {
	if pid == nil {
		return "nobody"
	}
	return pid.Address + "/" + pid.Id
}

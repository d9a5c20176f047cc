package actors

import (
	"errors"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
)

// Reasons of dead letters.
var (
	// ErrUnregistered refuses a message whose type is not registered, see RegisterType.
	ErrUnregistered = codec.ErrUnregistered
	// ErrRoute refuses a message for which a router has no receiver.
	ErrRoute = errors.New("the router has no receiver for the message")
	// ErrUnknownActor says that no actor of that name appeared in time.
	ErrUnknownActor = errors.New("no actor of that name appeared")
	// ErrStopped says that the actor stopped before it received the message.
	ErrStopped = errors.New("the actor has stopped")
	// ErrMailboxFull says that the receiver's mailbox and the sender's outbox are full.
	ErrMailboxFull = errors.New("mailbox and outbox are full")
	// ErrNoRank refuses an address that is no rank of this World.
	ErrNoRank = errors.New("no such rank")
	// ErrStale refuses a PID of another generation of the job: a rank was started again in the
	// meantime, and all actors of before have ended.
	ErrStale = errors.New("the PID is of another generation of the job")
	// ErrMessage refuses a message of a type that an actor of this package does not accept.
	ErrMessage = errors.New("the actor does not accept messages of this type")
	// ErrNoActors says that the rank has not called Of, and has no room to store the
	// message or has stored it for 30 s.
	ErrNoActors = errors.New("the rank has no actors: it did not call actors.Of")
)

// DeadLetter is published in the EventStream for a message that could not be delivered, at
// the rank that detected it: the sender's where possible, else the receiver's.
//
//nolint:errname // the field calls it a dead letter
type DeadLetter struct {
	// PID is the addressee.
	PID *actor.PID
	// Message is the message, or nil if this rank does not have it any more. A
	// *runtime.Message is released after the event.
	Message any
	// Sender is the actor that expects an answer, or nil.
	Sender *actor.PID
	// Reason is the cause.
	Reason error
}

// Error implements error, so that a DeadLetter can be returned as one.
func (d *DeadLetter) Error() string {
	return fmt.Sprintf("dead letter to %s of %T: %v", name(d.PID), d.Message, d.Reason)
}

// Unwrap returns the reason.
func (d *DeadLetter) Unwrap() error { return d.Reason }

// name returns a PID as one word.
func name(pid *actor.PID) string {
	if pid == nil {
		return "none"
	}
	return pid.Address + "/" + pid.Id
}

package actors

import (
	"errors"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
)

// The reasons of dead letters.
var (
	// ErrUnregistered is the reason if the type of the message is not registered, see RegisterType.
	ErrUnregistered = codec.ErrUnregistered
	// ErrRoute is the reason if a router cannot choose a receiver for the message, or if a router that passes
	// messages to all receivers gets a *runtime.Message, which can have only one receiver.
	ErrRoute = errors.New("the router has no receiver for the message")
	// ErrUnknownActor is the reason if no actor of that name was spawned within Config.Patience.
	ErrUnknownActor = errors.New("no actor of that name appeared")
	// ErrStopped is the reason if the actor stopped before it received the message, or if the addressee is a
	// router whose receivers have all ended.
	ErrStopped = errors.New("the actor has stopped")
	// ErrMailboxFull is the reason if the message has to wait, and the sender's outbox has no space for it. A message
	// waits for space in the receiver's mailbox, or for credit if the receiver is at another rank. ErrMailboxFull is
	// also the reason if the messages of this rank for an actor that does not exist yet would exceed Config.Mailbox.
	ErrMailboxFull = errors.New("no space to store the message until its receiver takes it, see actors.Config.Mailbox and Outbox")
	// ErrNoRank is the reason if the address names no rank of this World.
	ErrNoRank = errors.New("no such rank")
	// ErrStale is the reason if the PID is of another generation of the job. A rank has been started
	// again since the PID was made, and all actors of the earlier generation have ended.
	ErrStale = errors.New("the PID is of another generation of the job")
	// ErrMessage is the reason if the receiver is an actor of this package that does not accept the type
	// of the message.
	ErrMessage = errors.New("the actor does not accept messages of this type")
	// ErrNoActors is the reason if the receiver's rank has not called Of, and either has no space to
	// store the message or has stored messages for 30 s.
	ErrNoActors = errors.New("the rank has no actors: it did not call actors.Of")
)

// DeadLetter is published in the EventStream for a message that could not be delivered. It is
// published at the rank that detects the failure: at the sender's rank if possible, otherwise at the
// receiver's rank.
//
//nolint:errname // the field calls it a dead letter
type DeadLetter struct {
	// PID is the addressee.
	PID *actor.PID
	// Message is the undelivered message, or nil if this rank does not have it any more. A
	// *runtime.Message is released when the event has been published.
	Message any
	// Sender is the PID of the actor or future that expects an answer, or nil.
	Sender *actor.PID
	// Reason is the error that prevented the delivery, for example ErrStopped.
	Reason error
}

// Error implements error, so that a DeadLetter can be returned as an error.
func (d *DeadLetter) Error() string {
	return fmt.Sprintf("dead letter to %s of %T: %v", name(d.PID), d.Message, d.Reason)
}

// Unwrap returns the reason.
func (d *DeadLetter) Unwrap() error { return d.Reason }

// name returns a PID as one word for errors and logs: address, "/" and id, or "none" for nil.
func name(pid *actor.PID) string {
	if pid == nil {
		return "none"
	}
	return pid.Address + "/" + pid.Id
}

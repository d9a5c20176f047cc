package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime/actors/internal/deadlock"
)

// forwarder is a Process without a mailbox that forwards messages to actors. If a message of another rank has
// exactly one receiver, and the receiver's mailbox is of this rank and of this package, the credit of the message
// is returned when the receiver takes the message. Otherwise the credit is returned at once.
type forwarder interface {
	actor.Process
	// receiver chooses the receiver of a message. It returns nil if the message is not for one receiver;
	// SendUserMessage then handles the message.
	receiver(message any) *actor.PID
	// members returns all possible receivers.
	members() []*actor.PID
}

// forward passes a letter to a receiver that a forwarder has chosen.
func (l letter) forward(s *System, to *actor.PID) {
	if box := s.mailboxOf(to); box != nil {
		l.in.forwarded.Store(true)
		box.postArrived(item{message: l.message, in: l.in, cost: l.cost})
		return
	}
	l.in.repay(l.cost)
	s.sendContained(to, l.message)
}

// mailboxOf returns the mailbox of an actor. It returns nil if the actor is at another rank, if letters wait for the
// actor, or if the actor has no mailbox of this package.
func (s *System) mailboxOf(pid *actor.PID) *mailbox {
	if pid.Address != s.Address() || s.pending.has(pid.Id) {
		return nil
	}
	box, _ := s.boxes.Load(pid.Id)
	m, _ := box.(*mailbox)
	return m
}

// probedForwarder handles a probe that has reached a forwarder. An actor that waits for the forwarder may wait for
// any of the forwarder's receivers at this rank. So the probe is passed to all of them. Then a cycle through any of
// these receivers is found, but the actor may also get a reprieve that it does not need.
func (s *System) probedForwarder(p deadlock.Probe, f forwarder) {
	for _, pid := range f.members() {
		if m := s.mailboxOf(pid); m != nil {
			s.probed(p, m)
		}
	}
}

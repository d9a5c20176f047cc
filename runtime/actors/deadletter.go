package actors

import (
	"errors"
	"fmt"
	"strings"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
)

// deadLetter publishes and logs a message that cannot be delivered, and releases the message's arena
// memory. message may be in an envelope of protoactor (actor.MessageEnvelope). If the envelope names
// a sender, the sender gets a DeadLetterResponse, because it may wait for an answer. An answer that comes
// after the first one of FirstAnswer is only released.
func (s *System) deadLetter(pid *actor.PID, message any, why error) {
	first := s
	if later := s.successor(); later != nil {
		s, why = later, fmt.Errorf("%w: %s is of generation %d of the job, this is %d", ErrStale, name(pid), s.epoch, later.epoch)
	}
	_, m, sender := actor.UnwrapEnvelope(message)
	if strings.HasPrefix(pid.Id, firstPrefix) && errors.Is(why, ErrStopped) {
		s.discard(m)
		return
	}
	if errors.Is(why, errEnded) {
		message, sender = m, nil
	}
	s.deadLetters.Add(1)
	if errors.Is(why, codec.ErrMalformed) {
		s.rubbish.Add(1)
	}
	d := &DeadLetter{PID: pid, Message: m, Sender: sender, Reason: why}
	s.EventStream.Publish(d)
	if _, answer := m.(*actor.DeadLetterResponse); !answer {
		s.reportLetter(d)
		if errors.Is(why, codec.ErrDepth) {
			// The message contains itself. Subscribers of protoactor's event print the message, and
			// printing this message would not end. So they get only the name of its type.
			message = &actor.MessageEnvelope{Message: fmt.Sprintf("%T", m), Sender: sender}
		}
		// protoactor's dead letter Process publishes its event and answers the sender.
		s.DeadLetter.SendUserMessage(pid, message)
		if first != s && sender != nil {
			// s, the System of a later World, does not deliver to the futures of first.
			first.endFuture(sender.Id, pid)
		}
		if strings.HasPrefix(pid.Id, futurePrefix) && pid.Address != s.Address() {
			s.Root.Send(pid, &actor.DeadLetterResponse{Target: pid})
		}
	}
	s.discard(m)
}

// discard releases the arena memory of a message.
func (s *System) discard(message any) {
	if memory, ok := message.(*runtime.Message); ok && memory != nil {
		s.world.Release(memory)
	}
}

// successor returns the System of the World that has replaced the World of s after a loss, or nil if
// no World has replaced it yet. successor is needed because a PID that has cached its Process still
// leads to s.
func (s *System) successor() *System {
	if !s.closed.Load() {
		return nil
	}
	later, _ := s.world.Successor().(*System)
	return later
}

// tellSystem sends a system message to an actor of any rank.
func (s *System) tellSystem(pid *actor.PID, message any) {
	if pid == nil {
		return
	}
	if later := s.successor(); later != nil {
		s = later // live actors are in the registry of the newer System
	}
	_, watch := message.(*actor.Watch)
	switch process, ok := s.ProcessRegistry.Get(pid); {
	case ok:
		process.SendSystemMessage(pid, message)
	case watch:
		s.receive(pid.Id, letter{pid: pid, message: message, system: true})
	}
}

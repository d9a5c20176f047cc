package actors

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
)

// deadLetter publishes and logs a message that cannot be delivered, and releases the message's arena
// memory. message may be in an envelope of protoactor (actor.MessageEnvelope). If the envelope names
// a sender, the sender gets a DeadLetterResponse, because it may wait for an answer. If the reason is errEnded,
// the sender has ended and gets none. If a request went through a FirstAnswer router, every answer after the first is
// only released. A DeadLetterResponse that cannot be delivered is published only as a *DeadLetter, and not logged.
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
		s.malformed.Add(1)
	}
	d := &DeadLetter{PID: pid, Message: m, Sender: sender, Reason: why}
	s.EventStream.Publish(d)
	if _, answer := m.(*actor.DeadLetterResponse); !answer {
		s.reportLetter(d)
		if errors.Is(why, codec.ErrDepth) {
			// The message is nested too deeply, and may contain itself. Subscribers of protoactor's event print
			// the message, and printing a message that contains itself would not end. So they get only the
			// name of its type.
			message = &actor.MessageEnvelope{Message: fmt.Sprintf("%T", m), Sender: sender}
		}
		// protoactor's dead letter Process publishes its event and answers the sender.
		s.publish(pid, m, message)
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

// publish passes a dead letter to protoactor's dead letter Process. m is the message without its envelope.
func (s *System) publish(pid *actor.PID, m, message any) {
	if memory, ok := m.(*runtime.Message); ok {
		s.letters.Store(memory, nil) // the caller releases the memory
		defer s.letters.Delete(memory)
	}
	s.DeadLetter.SendUserMessage(pid, message)
}

// letterTime is the time for which a *runtime.Message stays valid if only protoactor has published it as a dead
// letter. Subscribers may use the message during this time. After it, the message is released. protoactor does
// not tell when the last subscriber has handled an event.
const letterTime = time.Second

// releaseLetters subscribes to protoactor's dead letters, and releases the arena memory of those that did not
// pass through deadLetter. These are messages to actors of this rank that do not exist or have ended.
// releaseLetters returns a function that ends the subscription.
func (s *System) releaseLetters() (end func()) {
	subscription := s.EventStream.Subscribe(func(event any) {
		d, ok := event.(*actor.DeadLetterEvent)
		if !ok {
			return
		}
		memory, ok := d.Message.(*runtime.Message)
		if !ok {
			return
		}
		if _, publishes := s.letters.Load(memory); publishes {
			return
		}
		time.AfterFunc(letterTime, func() {
			s.deferTask(deferredTask{do: func() { s.discard(memory) }})
		})
	})
	return func() { s.EventStream.Unsubscribe(subscription) }
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

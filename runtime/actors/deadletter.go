package actors

import (
	"errors"
	"strings"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
)

// deadLetter publishes a message that cannot be delivered, which may be in its envelope, logs
// it, and releases its memory. If the sender waits for an answer, it answers.
func (s *System) deadLetter(pid *actor.PID, message any, why error) {
	_, m, sender := actor.UnwrapEnvelope(message)
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
		// protoactor's Process of dead letters answers the sender.
		s.DeadLetter.SendUserMessage(pid, message)
		if strings.HasPrefix(pid.Id, futurePrefix) && pid.Address != s.Address() {
			s.Root.Send(pid, &actor.DeadLetterResponse{Target: pid})
		}
	}
	if memory, ok := m.(*runtime.Message); ok && memory != nil {
		s.world.Release(memory)
	}
}

// tellSystem sends a system message to an actor of any rank.
func (s *System) tellSystem(pid *actor.PID, message any) {
	if pid == nil {
		return
	}
	_, watch := message.(*actor.Watch)
	switch process, ok := s.ProcessRegistry.Get(pid); {
	case ok:
		process.SendSystemMessage(pid, message)
	case watch:
		s.receive(pid.Id, letter{pid: pid, message: message, system: true})
	}
}

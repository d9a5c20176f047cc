package actors

import (
	"errors"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
)

// bury publishes a message, maybe in its envelope, that cannot be delivered, and
// releases its memory.
func (s *System) bury(pid *actor.PID, message any, why error) {
	_, m, sender := actor.UnwrapEnvelope(message)
	if errors.Is(why, errEnded) {
		message, sender = m, nil
	}
	s.buried.Add(1)
	if errors.Is(why, errWire) {
		s.rubbish.Add(1)
	}
	s.EventStream.Publish(&DeadLetter{PID: pid, Message: m, Sender: sender, Reason: why})
	if _, answer := m.(*actor.DeadLetterResponse); !answer {
		// It answers the sender.
		s.DeadLetter.SendUserMessage(pid, message)
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
	if process, ok := s.ProcessRegistry.Get(pid); ok {
		process.SendSystemMessage(pid, message)
	}
}

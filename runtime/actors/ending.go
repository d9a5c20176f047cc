package actors

import (
	"slices"
	"strings"

	"github.com/asynkron/protoactor-go/actor"
)

// endWaits ends the waits that do not end with the engine. These are the futures, the receive timeouts of actors, and
// the waits of messages for actors that do not exist yet. Each of these waits would keep the World in memory
// until its timeout, or for ever. The caller has ended the engine and has called workers.close, whose result is
// quiet. endWaits does not end the receive timeout of an actor whose handler may not have returned.
func (s *System) endWaits(quiet bool) {
	s.closed.Store(true)
	if quiet {
		s.inbound.settle()
	}
	s.pending.close(s)
	stuck := s.workers.boxes()
	s.boxes.Range(func(_, v any) bool {
		m := v.(*mailbox)
		if quiet || !m.inline && !slices.Contains(stuck, m) {
			m.endTimeout()
		}
		s.ProcessRegistry.Remove(m.pid) // so that a PID that has cached the actor's Process looks it up again
		return true
	})
	s.endFutures()
}

// endTimeout ends the actor's receive timeout. The caller ensures that the actor is not running.
func (m *mailbox) endTimeout() {
	if timed, ok := m.invoker.(interface{ CancelReceiveTimeout() }); ok {
		timed.CancelReceiveTimeout()
	}
}

// endFutures ends all open futures of this rank: each gets a DeadLetterResponse.
func (s *System) endFutures() {
	var open []string
	for _, part := range s.ProcessRegistry.LocalPIDs.LocalPIDs {
		part.IterCb(func(id string, _ any) {
			if strings.HasPrefix(id, futurePrefix) {
				open = append(open, id)
			}
		})
	}
	for _, id := range open {
		s.endFuture(id, s.NewLocalPID(id))
	}
}

// endFuture ends a future of this rank by a DeadLetterResponse. target is the addressee of the request. If the
// id is not that of an open future, endFuture does nothing.
func (s *System) endFuture(id string, target *actor.PID) {
	process, ok := s.ProcessRegistry.GetLocal(id)
	if ok && strings.HasPrefix(id, futurePrefix) && !isActor(process) {
		process.SendUserMessage(s.NewLocalPID(id), &actor.DeadLetterResponse{Target: target})
	}
}

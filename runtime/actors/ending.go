package actors

import (
	"slices"
	"strings"

	"github.com/asynkron/protoactor-go/actor"
)

// endWaits ends all waits: of messages for pending actors, of senders for space, of futures, and
// the timers of actors. Each of them would keep the World in memory until its timeout, or for
// ever. The engine and the workers have ended. It does not touch an actor whose handler has not
// returned.
func (s *System) endWaits() {
	s.closed.Store(true)
	s.inbound.settle()
	s.pending.close(s)
	stuck := s.workers.boxes()
	s.boxes.Range(func(_, v any) bool {
		m := v.(*mailbox)
		if !slices.Contains(stuck, m) {
			m.close()
		}
		s.ProcessRegistry.Remove(m.pid) // a PID that has found the actor looks for it again
		return true
	})
	s.endFutures()
}

// close wakes the senders that wait for space, and ends the actor's timer. The actor is not
// running.
func (m *mailbox) close() {
	if timed, ok := m.invoker.(interface{ CancelReceiveTimeout() }); ok {
		timed.CancelReceiveTimeout()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.overflow != nil {
		m.overflow.room.Broadcast()
	}
}

// endFutures answers the open requests to actors of this rank with dead letters.
func (s *System) endFutures() {
	var open []string
	for _, part := range s.ProcessRegistry.LocalPIDs.LocalPIDs {
		part.IterCb(func(id string, process any) {
			if strings.HasPrefix(id, futurePrefix) && !isActor(process.(actor.Process)) {
				open = append(open, id)
			}
		})
	}
	for _, id := range open {
		pid := s.NewLocalPID(id)
		s.Root.Send(pid, &actor.DeadLetterResponse{Target: pid})
	}
}

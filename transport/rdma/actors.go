package rdma

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// ActorSystem returns the system in which the actors of connections live, so that a
// program's actors live there, too: its registry, its event stream and its PIDs are
// those of both. It is made if there is no connection yet; Close shuts it down. What
// it logs goes to log from now on; nothing is logged else. Like every method it is
// called under the engine's lock.
func (t *Transport) ActorSystem(log slog.Handler) *actor.ActorSystem {
	t.supervision.log.to.Store(&log)
	return t.supervision.open()
}

// ActorState is one of the actors of connections.
type ActorState struct {
	// ID is its id; "/" separates it from that of its parent.
	ID string
	// Kind and State say in a few words what it is and how it is.
	Kind, State string
}

// Actors lists the actors of connections, parents first. Like every method it is
// called under the engine's lock.
func (t *Transport) Actors() []ActorState {
	if t.supervision.supervisor == nil {
		return nil
	}
	all := []ActorState{{supervisorID, "supervisor of connections", "runs"}}
	for peer, p := range t.peers {
		id := supervisorID + "/" + connectorName(peer)
		if _, lives := t.supervision.system.ProcessRegistry.GetLocal(id); !lives {
			continue
		}
		state := "not connected"
		switch {
		case p == nil:
		case p.end != nil:
			state = fmt.Sprintf("ended: %v", p.end)
		case p.link != nil:
			state = "connected"
		}
		all = append(all, ActorState{id, "connection", state})
	}
	return all
}

// switchboard is a slog.Handler that is told later where to write. Until then, and
// without, nothing is written.
type switchboard struct{ to atomic.Pointer[slog.Handler] }

// Enabled implements slog.Handler.
func (s *switchboard) Enabled(ctx context.Context, level slog.Level) bool {
	h := s.to.Load()
	return h != nil && (*h).Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (s *switchboard) Handle(ctx context.Context, r slog.Record) error {
	if h := s.to.Load(); h != nil {
		return (*h).Handle(ctx, r)
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (s *switchboard) WithAttrs(attrs []slog.Attr) slog.Handler {
	if h := s.to.Load(); h != nil {
		return (*h).WithAttrs(attrs)
	}
	return s
}

// WithGroup implements slog.Handler.
func (s *switchboard) WithGroup(name string) slog.Handler {
	if h := s.to.Load(); h != nil {
		return (*h).WithGroup(name)
	}
	return s
}

package rdma

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// ActorSystem returns the actor system of the connections' actors. The program's actors run in this
// system, too, so that all actors of the rank have one process registry, one event stream and one
// namespace of PIDs. ActorSystem creates the system if it does not exist yet. After
// the call, the actor system logs to the handler in the argument log. Before the first call, the
// actor system logs nothing. Close shuts the actor system down. ActorSystem is called under the
// engine's lock.
func (t *Transport) ActorSystem(log slog.Handler) *actor.ActorSystem {
	t.supervision.log.to.Store(&log)
	return t.supervision.open()
}

// ActorState describes one of the actors of connections: the supervisor, or the actor of one peer.
type ActorState struct {
	// ID is the ID of the actor. The ID of a child consists of the ID of its parent, "/" and a
	// name.
	ID string
	// Kind describes in a few words the purpose of the actor. State describes in a few words the
	// state of the actor or of its connection.
	Kind, State string
}

// Actors lists the actors of connections, parents first. It is called under the engine's lock.
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

// switchboard is a slog.Handler that passes records on to another slog.Handler, which is set later.
// Before that handler is set, switchboard discards all records.
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

package rdma

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// ActorSystem returns the actor system of the connections' actors. The program's actors
// run in it, too, so that all have one process registry, one event stream and one space
// of PIDs. This call makes the system if no connection has made it before; Close shuts it
// down. From now on the system logs to log; before the first call it logs nothing. Like
// every method, it is called under the engine's lock.
func (t *Transport) ActorSystem(log slog.Handler) *actor.ActorSystem {
	t.supervision.log.to.Store(&log)
	return t.supervision.open()
}

// ActorState describes one of the actors of connections: the supervisor, or the actor of one peer.
type ActorState struct {
	// ID is the ID of the actor; that of a child is its parent's, "/" and a name.
	ID string
	// Kind says what the actor is for, State what state it or its connection is in, both
	// in a few words.
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

// switchboard is a slog.Handler that passes records on to another one, which is set
// later. It discards what is logged before that.
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

package actors

import (
	"fmt"
	"slices"
	"strings"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/internal/port"
)

// Actor describes an actor for System.Actors. Its fields:
//
//	ID       string // the actor's id; a child's id begins with its parent's id and "/"
//	Kind     string // the kind of actor
//	State    string // the actor's present state
//	Busy     bool   // the actor runs, is queued to run or its outbox is not empty
//	Restarts int    // the number of times that its supervisor has restarted it
//
// Busy is false for a suspended actor, for one with a custom mailbox, for a router and for the actors of the
// rank's connections.
type Actor = port.Actor

var (
	_ port.Explainer    = (*System)(nil)
	_ runtime.Explainer = (*System)(nil)
)

// Explain returns a line for gorun -explain with the number of dead letters of this rank. It returns nil
// if there were none.
func (s *System) Explain() []string {
	n := s.deadLetters.Load()
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("actors: dead letters: %d, of these malformed actor messages: %d", n, s.malformed.Load())}
}

// Actors lists the actors and routers that live on this rank, children after their parents. The list
// contains the actors of the program, of this package (such as "$names") and of the rank's connections. If an
// actor has a custom mailbox, only its ID and its kind are known. Actors visits every actor, and takes the
// engine's lock. After the engine was closed, the list does not have the states of the connections' actors.
func (s *System) Actors() []Actor {
	all := s.world.TransportActors()
	known := make(map[string]bool, len(all))
	for _, a := range all {
		known[a.ID] = true
	}
	// The Processes are observed after the iteration, during which the registry is locked. A router, which observe
	// locks, may be waiting for the registry (router.enter).
	processes := make(map[string]actor.Process)
	for _, part := range s.ProcessRegistry.LocalPIDs.LocalPIDs {
		part.IterCb(func(id string, process any) { processes[id] = process.(actor.Process) })
	}
	for id, process := range processes {
		a, ok := s.observe(id, process)
		// The mailbox of an actor that has ended meanwhile may be gone. Then observe describes the actor as one with a
		// custom mailbox.
		if _, lives := s.ProcessRegistry.GetLocal(id); ok && lives && !known[id] {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b Actor) int {
		return slices.Compare(strings.Split(a.ID, "/"), strings.Split(b.ID, "/"))
	})
	return all
}

// observe describes a Process. It returns false if the Process is neither an actor nor a router.
func (s *System) observe(id string, process actor.Process) (Actor, bool) {
	if box, ok := s.boxes.Load(id); ok {
		return box.(*mailbox).observe(id), true
	}
	switch process := process.(type) {
	case *router:
		return Actor{ID: id, Kind: "router", State: fmt.Sprintf("%d receivers", len(process.members()))}, true
	case *actor.ActorProcess:
		return Actor{ID: id, Kind: "custom mailbox", State: "lives"}, true
	default:
		return Actor{}, false
	}
}

// observe describes the actor of the mailbox and its present state.
func (m *mailbox) observe(id string) Actor {
	a := Actor{ID: id, Kind: "worker", Restarts: int(m.restarts.Load())}
	if m.inline {
		a.Kind = "inline"
	}
	m.mu.Lock()
	runs := m.scheduled
	m.mu.Unlock()
	switch waiting, out := m.UserMessageCount(), m.outbox.Load(); {
	case m.suspended.Load():
		a.State = "suspended by its supervisor"
	case out > 0:
		a.State, a.Busy = fmt.Sprintf("waits for others to take %d bytes", out), true
	case runs:
		a.State, a.Busy = fmt.Sprintf("runs, %d messages wait", waiting), true
	default:
		a.State = "idle"
	}
	return a
}

package actors

import (
	"fmt"
	"slices"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
)

// roaming is one rank's view of an actor that exists once among several ranks. It is a Process that
// forwards messages to the rank that has the actor.
type roaming struct {
	s     *System
	name  string
	ranks []int
	props *actor.Props

	// mu guards the fields below it.
	mu sync.Mutex
	// ranks[at] is the rank that has the actor or is about to start it. at is -1 before the first call
	// of settle. The field to is the actor's PID at that rank.
	at int
	to *actor.PID
	// relays holds the watches through this Process. The keys are the names of the watchers (see the function name).
	relays map[string]*relay
}

var _ forwarder = (*roaming)(nil)

// SpawnAmong starts an actor that exists once among some ranks. The actor is at the first of these
// ranks that is not lost. When that rank is lost, the actor is started again at the next of the
// ranks. Each of the ranks must call SpawnAmong with the same name and the same ranks in the same
// order. Other ranks may also call SpawnAmong, in order to send messages to the actor. The returned
// PID has the address of this rank, and leads to the actor at its present rank. Stop and Watch
// through this PID act on the actor at its present rank, and Terminated contains this PID, also if
// the rank of the actor is lost. The actor has the same name at each of the ranks. An actor that has stopped is also
// started again when its rank is lost. An empty name is runtime.ErrArgument, because a generated name would differ
// between the ranks.
//
// If a message was sent to the lost rank and was not answered, it is unknown whether the actor handled
// it. The message is not sent again. If it is a request, the request ends with actor.ErrDeadLetter.
// A message that is sent after this rank has detected the loss waits for the new actor. The new actor
// has the state of the lost actor only if the actor is Persistent. If a rank cannot be reached, the
// other ranks regard it as lost. That rank may still run its actor.
//
// Under -on-failure respawn the World ends when a rank is lost. In this case the actor is not moved.
// The function of World.Resume must start the actor again.
func (s *System) SpawnAmong(props *actor.Props, name string, ranks ...int) (*actor.PID, error) {
	if i := slices.IndexFunc(ranks, func(rank int) bool { return rank < 0 || rank >= s.Size() }); i >= 0 || len(ranks) == 0 {
		return nil, fmt.Errorf("actor %q among ranks %v of %d: %w", name, ranks, s.Size(), ErrNoRank)
	}
	if name == "" {
		return nil, fmt.Errorf("actor among ranks %v: %w: it has no name", ranks, runtime.ErrArgument)
	}
	r := &roaming{s: s, name: name, ranks: slices.Clone(ranks), props: props, at: -1, relays: make(map[string]*relay)}
	here := r.settle() // before a message can arrive
	pid, ok := s.ProcessRegistry.Add(r, "among$"+name)
	if !ok {
		return nil, fmt.Errorf("actor %q: %w", name, actor.ErrNameExists)
	}
	// From now on System.lost moves the actor after a loss.
	s.mu.Lock()
	s.roaming = append(s.roaming, r)
	s.mu.Unlock()
	if r.settle() || here {
		if _, err := s.Spawn(props, name); err != nil {
			s.forgetRoaming(r, pid)
			return nil, err
		}
	}
	s.appeared(pid.Id)
	return pid, nil
}

// forgetRoaming undoes the registration of an actor that SpawnAmong could not start.
func (s *System) forgetRoaming(r *roaming, pid *actor.PID) {
	s.mu.Lock()
	s.roaming = slices.DeleteFunc(s.roaming, func(other *roaming) bool { return other == r })
	s.mu.Unlock()
	s.ProcessRegistry.Remove(pid)
}

// settle determines the rank of the actor, and reports whether the caller must start the actor at this
// rank.
func (r *roaming) settle() (here bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.ranks, func(rank int) bool { return !r.s.isLost(rank) })
	if at < 0 {
		at = len(r.ranks) - 1 // all ranks are lost; a message becomes a dead letter with the loss as its reason
	}
	if at == r.at {
		return false
	}
	r.at, r.to = at, r.s.PID(r.ranks[at], r.name)
	return r.ranks[at] == r.s.Rank()
}

// isLost reports whether a rank is lost.
func (s *System) isLost(rank int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down[rank]
}

// moveActors moves the actors of SpawnAmong whose rank is lost. Each actor is started on a separate
// goroutine, because the start runs functions of the program, which may panic or wait.
func (s *System) moveActors() {
	if s.world.Respawns() {
		return
	}
	s.mu.Lock()
	all := slices.Clone(s.roaming)
	s.mu.Unlock()
	for _, r := range all {
		if !r.settle() {
			continue
		}
		go s.world.Guard(func() {
			if _, err := s.Spawn(r.props, r.name); err != nil {
				s.cfg.Logger.Error("an actor whose rank is lost is not started here", "rank", s.Rank(), "cause", err)
			}
		})
	}
}

// where returns the actor's PID at its present rank.
func (r *roaming) where() *actor.PID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.to
}

// receiver implements forwarder.
func (r *roaming) receiver(any) *actor.PID { return r.where() }

// members implements forwarder.
func (r *roaming) members() []*actor.PID { return []*actor.PID{r.where()} }

// SendUserMessage implements actor.Process.
func (r *roaming) SendUserMessage(_ *actor.PID, message any) { r.s.Root.Send(r.where(), message) }

// SendSystemMessage implements actor.Process.
func (r *roaming) SendSystemMessage(pid *actor.PID, message any) {
	switch m := message.(type) {
	case *actor.Watch:
		r.watch(m.Watcher, actor.NewPID(pid.Address, pid.Id))
	case *actor.Unwatch:
		r.unwatch(m.Watcher)
	default:
		r.s.tellSystem(r.where(), message)
	}
}

// Stop implements actor.Process.
func (r *roaming) Stop(*actor.PID) { r.s.Root.Stop(r.where()) }

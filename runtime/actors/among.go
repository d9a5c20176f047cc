package actors

import (
	"fmt"
	"slices"
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// roaming is an actor that exists once among some ranks, as one rank sees it. It is a Process that
// passes messages on to where the actor is.
type roaming struct {
	s     *System
	name  string
	ranks []int
	props *actor.Props

	// mu guards the fields below it.
	mu sync.Mutex
	// at is the index in ranks of the rank that has the actor, or is about to. to is the actor's
	// PID there.
	at int
	to *actor.PID
}

var _ actor.Process = (*roaming)(nil)

// SpawnAmong starts an actor that exists once among some ranks, and is started again when its rank is
// lost: it is at the first of the ranks that has not been lost. Each of them calls SpawnAmong with
// the same name and ranks, in the same order; so may others, which send to the actor. The PID that it
// returns is of this rank, and leads to the actor wherever that is. Stop and Watch through it concern the
// actor where it is at that time, and Terminated names its PID there. At each of the ranks the actor has
// the name. One that has stopped is started again, too, when its rank is lost.
//
// What was sent to the lost rank and not answered may or may not have been handled, and is not sent
// again: requests end with actor.ErrDeadLetter. What is sent after this rank has detected the loss waits
// for the new actor. Its state is lost, unless it is Persistent. A rank that cannot be reached is
// lost to the others, and may still have its actor.
//
// Under -on-failure respawn the World ends with a rank. The actor is not moved there: the function of
// World.Resume starts it again.
func (s *System) SpawnAmong(props *actor.Props, name string, ranks ...int) (*actor.PID, error) {
	if i := slices.IndexFunc(ranks, func(rank int) bool { return rank < 0 || rank >= s.Size() }); i >= 0 || len(ranks) == 0 {
		return nil, fmt.Errorf("actor %q among ranks %v of %d: %w", name, ranks, s.Size(), ErrNoRank)
	}
	r := &roaming{s: s, name: name, ranks: slices.Clone(ranks), props: props, at: -1}
	pid, ok := s.ProcessRegistry.Add(r, "among$"+name)
	if !ok {
		return nil, fmt.Errorf("actor %q: %w", name, actor.ErrNameExists)
	}
	// From here on lost finds it.
	s.mu.Lock()
	s.roaming = append(s.roaming, r)
	s.mu.Unlock()
	if r.settle() {
		if _, err := s.Spawn(props, name); err != nil {
			return nil, err
		}
	}
	return pid, nil
}

// settle finds where the actor is now, and reports whether it is to be started at this rank.
func (r *roaming) settle() (here bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.ranks, func(rank int) bool { return !r.s.isLost(rank) })
	if at < 0 {
		at = len(r.ranks) - 1 // what is sent there is a dead letter with the loss as the reason
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
	return s.down[rank] != nil
}

// moveActors moves the actors of SpawnAmong whose rank is lost. A goroutine of its own starts them,
// because what starts an actor is of the program, and may panic or wait.
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

// where returns the actor's PID.
func (r *roaming) where() *actor.PID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.to
}

// SendUserMessage implements actor.Process.
func (r *roaming) SendUserMessage(_ *actor.PID, message any) { r.s.Root.Send(r.where(), message) }

// SendSystemMessage implements actor.Process.
func (r *roaming) SendSystemMessage(_ *actor.PID, message any) { r.s.tellSystem(r.where(), message) }

// Stop implements actor.Process.
func (r *roaming) Stop(*actor.PID) { r.s.Root.Stop(r.where()) }

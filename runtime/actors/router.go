package actors

import (
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
)

// Routing says which receivers get a message of a router.
type Routing uint8

const (
	// RoundRobin gives each message to the next receiver.
	RoundRobin Routing = iota
	// Broadcast gives each message to all. A *runtime.Message has one owner, so it is a
	// dead letter.
	Broadcast
	// ConsistentHash gives messages with the same Hash to the same receiver as long as it
	// lives. The end of another receiver does not change that (highest random weight, Thaler
	// and Ravishankar 1998). A message must be a Hasher.
	ConsistentHash
	// FirstAnswer gives a request to all; the first answer counts.
	FirstAnswer
)

// Hasher is a message for ConsistentHash.
type Hasher interface {
	// Hash returns the string that selects the receiver.
	Hash() string
}

// router is a Process without mailbox. It passes messages on at once, on the goroutine of the
// sender.
type router struct {
	s    *System
	pid  *actor.PID
	how  Routing
	turn atomic.Uint64

	// mu guards the fields below it.
	mu       sync.Mutex
	to       []*actor.PID // replaced, never modified
	watchers []*actor.PID
}

var _ actor.Process = (*router)(nil)

// Route makes a router in front of actors of any ranks and returns its PID, which is used
// like an actor's. Actors that end are removed from it. With name "" it gets a generated
// name.
func (s *System) Route(how Routing, name string, to ...*actor.PID) (*actor.PID, error) {
	if name == "" {
		name = "router" + s.ProcessRegistry.NextId()
	}
	r := &router{s: s, how: how, to: append([]*actor.PID(nil), to...)}
	pid, ok := s.ProcessRegistry.Add(r, name)
	if !ok {
		return nil, fmt.Errorf("router %q: %w", name, actor.ErrNameExists)
	}
	r.pid = pid
	s.appeared(name)
	for _, t := range to {
		s.tellSystem(t, &actor.Watch{Watcher: pid})
	}
	return pid, nil
}

// members returns the receivers that are left.
func (r *router) members() []*actor.PID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.to
}

// SendUserMessage implements actor.Process.
func (r *router) SendUserMessage(pid *actor.PID, message any) {
	to := r.members()
	m := actor.UnwrapEnvelopeMessage(message)
	switch _, poison := m.(*actor.PoisonPill); {
	case poison:
		r.Stop(pid)
	case len(to) == 0:
		r.s.deadLetter(pid, message, fmt.Errorf("%w: the router has no receivers", ErrStopped))
	case r.how == RoundRobin:
		r.s.Root.Send(to[(r.turn.Add(1)-1)%uint64(len(to))], message)
	case r.how == ConsistentHash:
		h, ok := m.(Hasher)
		if !ok {
			r.s.deadLetter(pid, message, fmt.Errorf("%w: %T has no method Hash", ErrRoute, m))
			return
		}
		var key string
		if err := codec.Contained(func() error { key = h.Hash(); return nil }); err != nil {
			r.s.deadLetter(pid, message, fmt.Errorf("%w: %T: %w", ErrRoute, m, err))
			return
		}
		r.s.Root.Send(heaviest(to, key), message)
	case codec.Of(m) == codec.Message:
		r.s.deadLetter(pid, message, fmt.Errorf("%w: %T is for one receiver", ErrRoute, m))
	default:
		var f *first
		if sender := actor.UnwrapEnvelopeSender(message); r.how == FirstAnswer && sender != nil {
			f = newFirst(r.s, sender, len(to))
		}
		for _, t := range to {
			if f != nil {
				message = &actor.MessageEnvelope{Message: m, Sender: f.one()}
			}
			r.s.Root.Send(t, message)
		}
	}
}

// heaviest returns the PID with the largest hash of PID and key.
func heaviest(to []*actor.PID, key string) *actor.PID {
	var best *actor.PID
	var most uint64
	for _, t := range to {
		h := fnv.New64a()
		_, _ = h.Write([]byte(name(t) + "\x00" + key)) // a hash takes everything
		w := h.Sum64()
		w ^= w >> 33 // FNV mixes the last bytes badly
		w *= 0xff51afd7ed558ccd
		w ^= w >> 33
		if best == nil || w > most {
			best, most = t, w
		}
	}
	return best
}

// SendSystemMessage implements actor.Process.
func (r *router) SendSystemMessage(pid *actor.PID, message any) {
	switch m := message.(type) {
	case *actor.Terminated:
		r.mu.Lock()
		r.to = without(r.to, m.Who)
		r.mu.Unlock()
	case *actor.Watch:
		r.mu.Lock()
		r.watchers = append(r.watchers, m.Watcher)
		r.mu.Unlock()
	case *actor.Unwatch:
		r.mu.Lock()
		r.watchers = without(r.watchers, m.Watcher)
		r.mu.Unlock()
	case *actor.Stop:
		r.Stop(pid)
	}
}

// without returns all PIDs except pid.
func without(all []*actor.PID, pid *actor.PID) []*actor.PID {
	return slices.DeleteFunc(slices.Clone(all), pid.Equal)
}

// Stop implements actor.Process. It ends the router, not its receivers.
func (r *router) Stop(*actor.PID) {
	r.s.ProcessRegistry.Remove(r.pid)
	r.mu.Lock()
	to, watchers := r.to, r.watchers
	r.to, r.watchers = nil, nil
	r.mu.Unlock()
	for _, t := range to {
		r.s.tellSystem(t, &actor.Unwatch{Watcher: r.pid})
	}
	for _, w := range watchers {
		r.s.tellSystem(w, &actor.Terminated{Who: r.pid})
	}
}

// first passes on the first of several answers. It passes on a failure only if no receiver can
// answer.
type first struct {
	s    *System
	to   *actor.PID
	left atomic.Int32
	done atomic.Bool
}

// newFirst returns a first for n answers.
func newFirst(s *System, to *actor.PID, n int) *first {
	s.fence(to)
	f := &first{s: s, to: to}
	f.left.Store(int32(n))
	return f
}

// answer is the Process that takes one of the answers, or the end of the actor that was asked.
type answer struct {
	*first
	came atomic.Bool
}

// one returns the PID to which an answer is to be sent.
func (f *first) one() *actor.PID {
	// It has the name of a future. So other ranks answer without credit, and the loss of a rank
	// ends it.
	pid, _ := f.s.ProcessRegistry.Add(&answer{first: f}, futurePrefix+"first"+f.s.ProcessRegistry.NextId())
	return pid
}

// SendUserMessage implements actor.Process.
func (a *answer) SendUserMessage(pid *actor.PID, message any) {
	if a.came.Swap(true) {
		return
	}
	a.Stop(pid)
	_, dead := actor.UnwrapEnvelopeMessage(message).(*actor.DeadLetterResponse)
	if left := a.left.Add(-1); (!dead || left == 0) && !a.done.Swap(true) {
		a.s.Root.Send(a.to, message)
	}
}

// SendSystemMessage implements actor.Process.
func (a *answer) SendSystemMessage(*actor.PID, any) {}

// Stop implements actor.Process.
func (a *answer) Stop(pid *actor.PID) { a.s.ProcessRegistry.Remove(pid) }

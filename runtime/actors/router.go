package actors

import (
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
)

// Routing is the way in which a router chooses the receivers of a message.
type Routing uint8

const (
	// RoundRobin passes each message to the next receiver.
	RoundRobin Routing = iota
	// Broadcast passes each message to all receivers. A *runtime.Message can have only one
	// owner, so it becomes a dead letter.
	Broadcast
	// ConsistentHash passes messages with the same Hash to the same receiver as long as that receiver
	// lives. The end of another receiver does not change this assignment. (The method is highest
	// random weight, Thaler and Ravishankar 1998.) A message must be a Hasher.
	ConsistentHash
	// FirstAnswer passes a request to all receivers. The requester gets only the first
	// answer; later answers are dropped. A *runtime.Message becomes a dead letter, as with Broadcast.
	FirstAnswer
)

// Hasher is implemented by messages to a router with ConsistentHash.
type Hasher interface {
	// Hash returns the string that selects the receiver.
	Hash() string
}

// router is a Process without a mailbox. It forwards messages at once: those of this rank on the goroutine of the
// sender, those of other ranks on the serving goroutine.
type router struct {
	s    *System
	pid  *actor.PID
	how  Routing
	turn atomic.Uint64 // number of messages of RoundRobin so far

	// mu guards the fields below it.
	mu       sync.Mutex
	to       []*actor.PID // the receivers; the slice is replaced, never modified
	watchers []*actor.PID
	ended    bool     // Stop was called
	open     []*first // requests of FirstAnswer that are possibly not answered yet
	room     int      // when open has this length, requests that have ended are removed
}

var _ forwarder = (*router)(nil)

// Route makes a router in front of actors of any ranks and returns its PID, which is used like the PID
// of an actor. Actors that end are removed from the router. If name is "", the router gets a generated
// name. The error is actor.ErrNameExists or, for a nil PID or an unknown Routing, runtime.ErrArgument.
func (s *System) Route(how Routing, name string, to ...*actor.PID) (*actor.PID, error) {
	if name == "" {
		name = "router" + s.ProcessRegistry.NextId()
	}
	switch {
	case how > FirstAnswer:
		return nil, fmt.Errorf("router %q: %w: Routing %d", name, runtime.ErrArgument, how)
	case slices.Contains(to, nil):
		return nil, fmt.Errorf("router %q: %w: the PID of a receiver is nil", name, runtime.ErrArgument)
	}
	r := &router{s: s, pid: s.NewLocalPID(name), how: how, to: append([]*actor.PID(nil), to...)}
	pid, ok := s.ProcessRegistry.Add(r, name)
	if !ok {
		return nil, fmt.Errorf("router %q: %w", name, actor.ErrNameExists)
	}
	s.appeared(name)
	for _, t := range to {
		s.tellSystem(t, &actor.Watch{Watcher: r.pid})
	}
	return pid, nil
}

// members returns the receivers that have not ended.
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
		r.s.Root.Send(r.inTurn(to), message)
	case r.how == ConsistentHash:
		t, err := byHash(to, m)
		if err != nil {
			r.s.deadLetter(pid, message, err)
			return
		}
		r.s.Root.Send(t, message)
	case codec.Of(m) == codec.Message:
		r.s.deadLetter(pid, message, fmt.Errorf("%w: %T is for one receiver", ErrRoute, m))
	default:
		r.pass(to, message)
	}
}

// receiver implements forwarder.
func (r *router) receiver(message any) *actor.PID {
	to := r.members()
	m := actor.UnwrapEnvelopeMessage(message)
	switch _, poison := m.(*actor.PoisonPill); {
	case poison || len(to) == 0:
	case r.how == RoundRobin:
		return r.inTurn(to)
	case r.how == ConsistentHash:
		t, _ := byHash(to, m)
		return t
	}
	return nil
}

// inTurn returns the next receiver of RoundRobin.
func (r *router) inTurn(to []*actor.PID) *actor.PID { return to[(r.turn.Add(1)-1)%uint64(len(to))] }

// byHash returns the receiver of a message of ConsistentHash.
func byHash(to []*actor.PID, m any) (*actor.PID, error) {
	h, ok := m.(Hasher)
	if !ok {
		return nil, fmt.Errorf("%w: %T has no method Hash", ErrRoute, m)
	}
	var key string
	if err := codec.Contained(func() error { key = h.Hash(); return nil }); err != nil {
		return nil, fmt.Errorf("%w: %T: %w", ErrRoute, m, err)
	}
	return heaviest(to, key), nil
}

// pass passes a message to all receivers. Their answers to a request of FirstAnswer go to a value of type first. If the
// delivery to a receiver panics, the message becomes a dead letter, and the other receivers get it nevertheless.
func (r *router) pass(to []*actor.PID, message any) {
	request, ok := message.(*actor.MessageEnvelope)
	if r.how != FirstAnswer || !ok || request.Sender == nil {
		for _, t := range to {
			r.s.sendContained(t, message)
		}
		return
	}
	f := newFirst(r.s, request.Sender, len(to))
	r.enter(f)
	for i, t := range to {
		r.s.sendContained(t, &actor.MessageEnvelope{Header: request.Header, Message: request.Message, Sender: f.from[i]})
	}
}

// enter adds a request of FirstAnswer to open. Like System.enter, it removes requests that have ended.
func (r *router) enter(f *first) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.open) >= r.room {
		r.open = slices.DeleteFunc(r.open, (*first).over)
		r.room = max(openRequestsFew, 2*len(r.open))
	}
	r.open = append(r.open, f)
}

// heaviest returns the PID for which the hash of PID and key is largest.
func heaviest(to []*actor.PID, key string) *actor.PID {
	var best *actor.PID
	var most uint64
	for _, t := range to {
		h := fnv.New64a()
		_, _ = h.Write([]byte(name(t) + "\x00" + key)) // Write of a hash never fails
		w := h.Sum64()
		w ^= w >> 33 // because FNV hardly mixes the last bytes into the high bits
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
		ended := r.ended
		if !ended {
			r.watchers = append(without(r.watchers, m.Watcher), m.Watcher) // once, as with an actor
		}
		r.mu.Unlock()
		if ended {
			r.s.tellSystem(m.Watcher, &actor.Terminated{Who: r.pid})
		}
	case *actor.Unwatch:
		r.mu.Lock()
		r.watchers = without(r.watchers, m.Watcher)
		r.mu.Unlock()
	case *actor.Stop:
		r.Stop(pid)
	}
}

// without returns a copy of a list of PIDs from which one PID is removed.
func without(all []*actor.PID, pid *actor.PID) []*actor.PID {
	return slices.DeleteFunc(slices.Clone(all), pid.Equal)
}

// Stop implements actor.Process. It ends the router, but not its receivers. A second call has no effect,
// because an actor may have the name of the router by then.
func (r *router) Stop(*actor.PID) {
	r.mu.Lock()
	if r.ended {
		r.mu.Unlock()
		return
	}
	to, watchers := r.to, r.watchers
	r.to, r.watchers, r.ended = nil, nil, true
	r.mu.Unlock()
	r.s.ProcessRegistry.Remove(r.pid)
	for _, t := range to {
		r.s.tellSystem(t, &actor.Unwatch{Watcher: r.pid})
	}
	for _, w := range watchers {
		r.s.tellSystem(w, &actor.Terminated{Who: r.pid})
	}
}

// first forwards the first of several answers to the requester. It forwards a DeadLetterResponse only if
// no receiver has answered or can still answer. Answers that arrive later are dropped without a dead letter.
type first struct {
	s    *System
	to   *actor.PID   // the requester
	from []*actor.PID // the PIDs of the answer Processes, one for each receiver
	left atomic.Int32 // number of answers that have not arrived
	done atomic.Bool  // an answer was forwarded, or the requester has ended
	met  bool         // the requester is of this rank and existed when it sent the request
}

// firstPrefix begins the ids of answer Processes. The ids are like those of futures. Therefore other ranks
// answer without credit, and the loss of the receiver's rank ends the wait for the answer.
const firstPrefix = futurePrefix + "first"

// newFirst returns a new value of type first, which expects n answers. The argument to is the requester.
func newFirst(s *System, to *actor.PID, n int) *first {
	s.fence(to)
	f := &first{s: s, to: to}
	_, f.met = s.ProcessRegistry.GetLocal(to.Id)
	f.met = f.met && to.Address == s.Address()
	f.left.Store(int32(n))
	for range n {
		a := &answer{first: f}
		pid, _ := s.ProcessRegistry.Add(a, firstPrefix+s.ProcessRegistry.NextId())
		s.Root.Stop(pid) // makes pid cache a: late answers of this rank's actors reach a after end
		a.made = true
		f.from = append(f.from, pid)
	}
	return f
}

// end removes the answer Processes. It returns false if an earlier call has done so.
func (f *first) end() bool {
	if f.done.Swap(true) {
		return false
	}
	for _, pid := range f.from {
		f.s.ProcessRegistry.Remove(pid)
	}
	return true
}

// over reports whether the request has ended, and removes the answer Processes if the requester is of this rank
// and has ended. Whether a requester of another rank has ended is not known. A requester that did not exist when
// the request was sent may still be spawned, so its request has not ended.
func (f *first) over() bool {
	if _, exists := f.s.ProcessRegistry.GetLocal(f.to.Id); !exists && (f.met || f.s.isFuture(f.to)) {
		f.end()
	}
	return f.done.Load()
}

// answer is the Process that receives the answer of one receiver. If the receiver has ended, a
// DeadLetterResponse arrives instead.
type answer struct {
	*first
	came atomic.Bool // the answer has arrived
	made bool        // the PID has cached this Process (see newFirst); set before other goroutines know the PID
}

// SendUserMessage implements actor.Process.
func (a *answer) SendUserMessage(pid *actor.PID, message any) {
	content := actor.UnwrapEnvelopeMessage(message)
	if a.came.Swap(true) {
		a.s.discard(content)
		return
	}
	_, dead := content.(*actor.DeadLetterResponse)
	switch left := a.left.Add(-1); {
	case dead && left > 0:
		a.Stop(pid)
	case a.end():
		// After a panic, a future of another rank gets a DeadLetterResponse.
		a.s.sendContained(a.to, message)
	default:
		a.s.discard(content)
	}
}

// SendSystemMessage implements actor.Process.
func (a *answer) SendSystemMessage(*actor.PID, any) {}

// Stop implements actor.Process.
func (a *answer) Stop(pid *actor.PID) {
	if a.made {
		a.s.ProcessRegistry.Remove(pid)
	}
}

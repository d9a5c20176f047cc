package actors

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// remote is an actor of another rank as protoactor sees it: a Process. All PIDs of one actor share
// it, and so its stream and its credit. When no PID refers to it any more, it becomes garbage,
// and its entry closes the stream.
type remote struct {
	s     *System
	key   remoteKey
	entry *remoteEntry

	// making guards stream while it is made.
	making sync.Mutex
	// stream is the stream to the actor.
	stream atomic.Pointer[engine.Stream]
	// mu guards queue. Of other locks, only making and the engine's may be taken while it is
	// held.
	mu sync.Mutex
	// queue holds the messages that wait for credit, in order; queued says that it is not empty.
	queue  []waiting
	queued atomic.Bool
	// frameMax is the longest frame, once there is a stream.
	frameMax atomic.Int64
	// apart says that memory cannot be handed over to the rank.
	apart atomic.Bool
}

var _ actor.Process = (*remote)(nil)

// resolve finds the Process of a PID of another rank.
func (s *System) resolve(pid *actor.PID) (actor.Process, bool) {
	future := strings.HasPrefix(pid.Id, futurePrefix)
	if future {
		if a := s.inbound.remoteFutures.find(pid); a != nil {
			return &a.process, true
		}
	}
	rank, epoch, err := parseAddress(pid.Address)
	if err == nil && rank >= s.Size() {
		err = fmt.Errorf("%w: %q in a World of %d", ErrNoRank, pid.Address, s.Size())
	}
	key := remoteKey{rank, epoch, pid.Id}
	if err == nil && pid.Address != s.addresses[rank] {
		err = fmt.Errorf("%w: %q is %q here", ErrStale, pid.Address, s.addresses[rank])
	}
	if err != nil || future {
		return &futureProcess{s: s, rank: rank, err: err}, true
	}
	return s.reach(key), true
}

// SendUserMessage implements actor.Process.
func (r *remote) SendUserMessage(pid *actor.PID, message any) {
	r.send(pid, message, "")
}

// openStream returns the stream, which it makes on first use.
func (r *remote) openStream() (*engine.Stream, error) {
	if l := r.stream.Load(); l != nil {
		return l, nil
	}
	r.making.Lock()
	defer r.making.Unlock()
	if l := r.stream.Load(); l != nil {
		return l, nil
	}
	r.frameMax.Store(int64(r.s.engine.Eager(r.key.rank)))
	for l := r.entry.stream.Load(); l != nil; l = r.entry.stream.Load() { // of an earlier remote
		r.stream.Store(l)
		if r.entry.stream.Load() == l {
			return l, nil
		}
		r.stream.CompareAndSwap(l, nil) // refused meanwhile
	}
	p := engine.ActorMessage{Tag: codec.Tag(codec.KindName, 0), ID: r.key.epoch}
	l, err := r.s.engine.NewStream(r.key.rank, r.entry, &p, []byte(r.key.id))
	if err != nil {
		return nil, err
	}
	r.entry.stream.Store(l)
	r.stream.Store(l)
	return l, nil
}

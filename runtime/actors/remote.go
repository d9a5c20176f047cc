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

// remote is the Process of an actor of another rank. All PIDs of the actor share one remote, and
// therefore one stream and one credit. When no PID refers to the remote any more and no message waits in it,
// the remote becomes garbage, and its entry closes the stream (see remoteEntry).
type remote struct {
	s     *System
	key   remoteKey
	entry *remoteEntry

	// making is held while openStream makes the stream.
	making sync.Mutex
	// stream is the stream to the actor, nil until openStream has made it.
	stream atomic.Pointer[engine.Stream]
	// mu guards queue. A goroutine that holds mu locks neither System.mu nor the lock of a mailbox.
	mu sync.Mutex
	// queue holds the messages that wait for credit, in order. queued is true while queue is not
	// empty.
	queue  []waiting
	queued atomic.Bool
	// frameMax is the largest length of head and payload together up to which a message is sent in a frame.
	// openStream sets it.
	frameMax atomic.Int64
	// apart is true if a handover of memory to the rank is impossible.
	apart atomic.Bool
}

var _ actor.Process = (*remote)(nil)

// resolve returns the Process of a PID of another rank: a remote for an actor, a futureProcess for a future
// or an invalid address.
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

// openStream returns the stream to the actor. On the first call, and after the peer has refused a message of the
// last stream, openStream makes the stream, unless an earlier remote of the actor has made one.
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
	for l := r.entry.stream.Load(); l != nil; l = r.entry.stream.Load() { // an earlier remote of the actor has made the stream
		r.stream.Store(l)
		if r.entry.stream.Load() == l {
			return l, nil
		}
		r.stream.CompareAndSwap(l, nil) // the peer has refused the stream meanwhile
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

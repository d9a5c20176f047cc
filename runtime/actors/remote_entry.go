package actors

import (
	"encoding/binary"
	"fmt"
	goruntime "runtime"
	"sync/atomic"
	"weak"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// remoteKey names an actor of another rank.
type remoteKey struct {
	rank  int
	epoch uint32
	id    string
}

// pid is a PID of the actor.
func (k remoteKey) pid() *actor.PID { return actor.NewPID(address(k.rank, k.epoch), k.id) }

// remoteEntry is what a System keeps of an actor of another rank, that is of a remote,
// which lives as long as somebody uses it: PIDs lead to it, and messages that wait
// in it hold it. The next remote of the actor has the same line. When there is none, and
// all that was sent has been taken, the stream is closed, which frees the other end, too:
// not before, because a new stream begins with a window of credit of its own, so that a program that
// keeps no PID could send without bound.
type remoteEntry struct {
	key remoteKey
	// remote is guarded by System.mu.
	remote weak.Pointer[remote]
	stream atomic.Pointer[engine.Stream]
	// waiting is the remote while messages wait in it.
	waiting atomic.Pointer[remote]
}

// reach returns the remote of an actor.
func (s *System) reach(key remoteKey) *remote {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.remotes[key]
	if l == nil {
		l = &remoteEntry{key: key}
		s.remotes[key] = l
	} else if r := l.remote.Value(); r != nil {
		return r
	}
	r := &remote{s: s, key: key, entry: l}
	l.remote = weak.Make(r)
	goruntime.AddCleanup(r, cleanup.end, cleanup{weak.Make(s), weak.Make(l)})
	return r
}

// cleanup leads from a remote that is gone to its line. The garbage collector keeps it
// until then and would keep all that it leads to, by which a System, which leads to
// remotes, would last for ever: so it leads nowhere by itself.
type cleanup struct {
	s weak.Pointer[System]
	l weak.Pointer[remoteEntry]
}

// end is called when the remote is gone.
func (t cleanup) end() {
	if s, l := t.s.Value(), t.l.Value(); s != nil && l != nil {
		l.retire(s)
	}
}

// retire closes the stream of a line that has no remote any more and forgets the line. If
// not all was taken that went through the stream it asks the receiver to tell when it is.
func (l *remoteEntry) retire(s *System) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.remotes[l.key] != l || l.remote.Value() != nil {
		return
	}
	stream := l.stream.Load()
	if stream != nil && !s.settle(stream, l.key.epoch) {
		return
	}
	// mu is held: no goroutine finds the entry gone while its stream is still open.
	delete(s.remotes, l.key)
	if stream != nil && l.stream.CompareAndSwap(stream, nil) {
		s.engine.CloseStream(stream)
	}
}

// settle reports whether all was taken that went through a stream, and asks for the rest
// if not.
func (s *System) settle(stream *engine.Stream, epoch uint32) bool {
	spent, settled := s.engine.Settled(stream)
	if settled {
		return true
	}
	p := engine.ActorMessage{Stream: stream.Number(), Tag: codec.Tag(codec.KindSettle, 0), ID: epoch}
	_, err := s.engine.SendActorMessage(stream, p, nil, binary.LittleEndian.AppendUint32(nil, spent), 0)
	return err != nil // the stream has ended
}

// credited is told that credit has come back: for messages that wait, or for the end of
// the stream.
func (l *remoteEntry) credited(s *System) {
	if l.waiting.Load() != nil { // the remote lives
		l.drain()
		return
	}
	l.retire(s)
}

// drain sends what waits.
func (l *remoteEntry) drain() {
	if r := l.waiting.Load(); r != nil {
		r.drain()
	}
}

// refused is told that an actor message of a stream was dropped. Maybe it was the first, and
// the peer does not know where the stream leads; so the next message makes another.
func (l *remoteEntry) refused(s *System, stream *engine.Stream) {
	s.inbound.announced[l.key.rank].Clear() // it has refused something, maybe a definition
	s.endWatches(l.key)
	why := fmt.Errorf("%w: rank %d", ErrNoActors, l.key.rank)
	s.deadLetter(l.key.pid(), nil, why)
	// The line's first: a remote without a stream takes the line's.
	first := l.stream.CompareAndSwap(stream, nil)
	if first {
		s.engine.CloseStream(stream)
	}
	s.mu.Lock()
	r := l.remote.Value()
	s.mu.Unlock()
	if r != nil {
		r.stream.CompareAndSwap(stream, nil)
		defer r.drain()
	}
	if first || r == nil { // what is asked through the next stream may be answered
		s.unanswered(why, func(one openRequest) bool { return one.rank == l.key.rank && one.id == l.key.id })
	}
}

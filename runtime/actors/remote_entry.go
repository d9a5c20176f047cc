package actors

import (
	"encoding/binary"
	goruntime "runtime"
	"sync/atomic"
	"weak"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/runtime/internal/port"
)

// remoteKey identifies an actor of another rank.
type remoteKey struct {
	rank  int
	epoch uint32
	id    string
}

// pid returns a PID of the actor.
func (k remoteKey) pid() *actor.PID { return actor.NewPID(port.Address(k.rank, k.epoch), k.id) }

// remoteEntry is the state of a System for an actor of another rank. The entry's remote lives as long
// as PIDs refer to it or messages wait in it; a later remote of the actor gets the same entry. The
// stream is closed when there is no remote and the receiver has taken all messages. Closing also
// releases the receiving end. The stream must not be closed earlier, because a new stream begins with
// a full window of credit. A program that keeps no PID could then send without bound.
type remoteEntry struct {
	key remoteKey
	// remote is the present remote. System.mu guards it.
	remote weak.Pointer[remote]
	stream atomic.Pointer[engine.Stream]
	// waiting refers to the remote while messages wait in the remote's queue. This reference keeps
	// the remote alive.
	waiting atomic.Pointer[remote]
}

// reach returns the remote of an actor. If there is no remote, reach makes it, and its entry if there is none.
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

// cleanup identifies the entry of a remote after the remote has become garbage. Until then the garbage
// collector keeps the cleanup and all memory that the cleanup refers to. The pointers in the cleanup are
// weak, because a System refers to remotes. If the cleanup kept the System alive, the System and the
// remote would stay in memory for ever.
type cleanup struct {
	s weak.Pointer[System]
	l weak.Pointer[remoteEntry]
}

// end is called when the remote has become garbage.
func (t cleanup) end() {
	if s, l := t.s.Value(), t.l.Value(); s != nil && l != nil {
		l.retire(s)
	}
}

// retire closes the stream of an entry without a remote, and removes the entry. If the receiver has not
// yet taken all messages of the stream, retire only requests a report, which the receiver sends when
// it has taken them.
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
	// mu is held until the stream is closed. Otherwise another goroutine could find no entry and make
	// a new entry while the old stream is still open.
	delete(s.remotes, l.key)
	if stream != nil && l.stream.CompareAndSwap(stream, nil) {
		s.engine.CloseStream(stream)
	}
}

// settle returns true if the receiver has taken all messages of a stream, or if the stream has ended.
// Otherwise it requests a report, which the receiver sends when it has taken all messages.
func (s *System) settle(stream *engine.Stream, epoch uint32) bool {
	spent, settled := s.engine.Settled(stream)
	if settled {
		return true
	}
	p := engine.ActorMessage{Stream: stream.Number(), Tag: codec.Tag(codec.KindSettle, 0), ID: epoch}
	_, err := s.engine.SendActorMessage(stream, p, nil, binary.LittleEndian.AppendUint32(nil, spent), 0)
	return err != nil // the stream has ended
}

// credited handles the event that the stream has credit again. It sends the messages that wait. If no
// message waits, it calls retire, because the credit may be the report that settle has requested.
func (l *remoteEntry) credited(s *System) {
	if l.waiting.Load() != nil { // the remote is alive
		l.drain()
		return
	}
	l.retire(s)
}

// drain sends the messages that wait in the entry's remote.
func (l *remoteEntry) drain() {
	if r := l.waiting.Load(); r != nil {
		r.drain()
	}
}

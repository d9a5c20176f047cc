package runtime

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/runtime/internal/arena"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/runtime/internal/port"
)

// NewMessage returns a message that consists of the whole buffer, to be sent to an actor (see
// package actors). After the call the message owns the memory, and the Buffer b cannot be used any
// more, as after SendBuffer.
func NewMessage(b *Buffer) (*Message, error) {
	if b == nil || b.end != bufferLives {
		return nil, b.refuse()
	}
	m := &Message{buffer: *b}
	m.Status = Status{Source: b.world.Rank(), Tag: AnyTag, Bytes: len(b.lease.Bytes), size: 1}
	b.finish(bufferMessage)
	return m, nil
}

func init() {
	port.Of = func(world any) port.World { return (*actorPort)(world.(*World)) }
}

// actorPort is a World with the methods through which package actors uses it (port.World).
type actorPort World

var _ port.World = (*actorPort)(nil)

// kept holds the actor system that package actors keeps in a World.
type kept struct {
	// mu guards the next three fields. mu is held while Keep makes an actor system.
	mu     sync.Mutex
	value  any
	closed func()
	over   bool
	// idle points to the function that reports whether no actor is queued to run; nil in a program
	// without actors.
	idle atomic.Pointer[func() bool]
}

// end is called when the engine has ended. Its first call calls the function closed, if there is one. From
// then on Keep makes no actor system.
func (k *kept) end() {
	k.mu.Lock()
	closed := k.closed
	k.closed, k.over = nil, true
	k.mu.Unlock()
	if closed != nil {
		closed()
	}
}

// Engine implements port.World.
func (w *actorPort) Engine() *engine.Engine { return w.engine }

// Rank implements port.World.
func (w *actorPort) Rank() int { return w.job.Rank }

// Size implements port.World.
func (w *actorPort) Size() int { return w.job.Size }

// Epoch implements port.World. It returns the generation of the job, because a rank has a new actor
// system in each generation.
func (w *actorPort) Epoch() int { return w.job.Generation }

// Keep implements port.World.
func (w *actorPort) Keep(open func() (any, func(), error)) (any, error) {
	k := &w.actors
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.value == nil {
		if k.over {
			return nil, ErrClosed
		}
		value, closed, err := open()
		if err != nil {
			return nil, err
		}
		k.value, k.closed = value, closed
	}
	return k.value, nil
}

// Host implements port.World.
func (w *actorPort) Host(rank int) string { return (*World)(w).hostOf(rank) }

// Respawns implements port.World.
func (w *actorPort) Respawns() bool { return w.job.OnFailure == bootstrap.OnFailureRespawn }

// Successor implements port.World.
func (w *actorPort) Successor() any {
	last := (*World)(w).last()
	if last == (*World)(w) {
		return nil
	}
	k := &last.actors
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.value
}

// actorHost is implemented by a fabric that runs its connections as actors.
type actorHost interface {
	// actors returns the actors of the connections. actorSystem returns the actor system in which
	// the connections live, and passes it the handler for its log. The engine's lock is held during
	// both calls.
	actors() []port.Actor
	actorSystem(log slog.Handler) any
}

// ActorSystem implements port.World.
func (w *actorPort) ActorSystem(log slog.Handler) any {
	var system any
	if f, ok := w.network.fabric.(actorHost); ok {
		// After the end of the engine, Query does not call the function, and system stays nil.
		_ = w.engine.Query(func() { system = f.actorSystem(log) })
	}
	return system
}

// TransportActors implements port.World.
func (w *actorPort) TransportActors() (all []port.Actor) {
	if f, ok := w.network.fabric.(actorHost); ok {
		_ = w.engine.Query(func() { all = f.actors() }) // all is nil after the engine's end
	}
	return all
}

// actorTree lists all actors of the rank.
func (w *World) actorTree() []port.Actor {
	k := &w.actors
	k.mu.Lock()
	kept, _ := k.value.(port.Explainer)
	k.mu.Unlock()
	if kept != nil {
		return kept.Actors()
	}
	return (*actorPort)(w).TransportActors()
}

// hasActors reports whether package actors has made an actor system in this World.
func (w *World) hasActors() bool {
	k := &w.actors
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.value != nil
}

// actorsIdle reports whether no actor of the program is queued to run.
func (w *World) actorsIdle() bool {
	idle := w.actors.idle.Load()
	return idle == nil || (*idle)()
}

// Blocked returns the rank's report of blocked operations, which also lists busy actors (port.Actor.Busy).
// The tests of package actors use it.
func (w *actorPort) Blocked() string { return (*World)(w).blocked() }

// TellIdle implements port.World.
func (w *actorPort) TellIdle(idle func() bool) { w.actors.idle.Store(&idle) }

// Guard implements port.World.
func (w *actorPort) Guard(fn func()) {
	// The error is that of a panic or of runtime.Goexit, which guard has reported.
	_ = (*World)(w).guard(func() error { fn(); return nil })
}

// Bytes implements port.World.
func (w *actorPort) Bytes(message any) ([]byte, bool) {
	m := message.(*Message)
	if m == nil {
		return nil, false
	}
	b := &m.buffer
	return b.lease.Bytes, b.world == (*World)(w) && b.end == bufferLives
}

// Give implements port.World.
func (w *actorPort) Give(message any, to int) (port.Gift, error) {
	b := &message.(*Message).buffer
	if b.end != bufferLives {
		return port.Gift{}, b.dead()
	}
	if b.message != nil {
		own, err := (*World)(w).alloc(len(b.lease.Bytes))
		if err != nil {
			return port.Gift{}, fmt.Errorf("copy of a message that is passed on: %w", err)
		}
		copy(own.lease.Bytes, b.lease.Bytes)
		b.message.Release()
		*b = *own
	}
	a := w.memory.arena
	given, err := a.Give(b.lease, to)
	if err != nil {
		return port.Gift{}, err
	}
	return port.Gift{Lease: given, Key: a.Key(given.Off)}, nil
}

// Given implements port.World.
func (w *actorPort) Given(message any, g port.Gift, to int) {
	b := &message.(*Message).buffer
	// The memory is in flight, so Confirm cannot fail.
	_ = w.memory.arena.Confirm(g.Lease, false)
	b.sent(to)
}

// Regain implements port.World.
func (w *actorPort) Regain(message any, g port.Gift) {
	b := &message.(*Message).buffer
	b.lease, _ = w.memory.arena.Regain(g.Lease) // the memory is in flight, so Regain cannot fail
}

// Detach implements port.World.
func (w *actorPort) Detach(message any, to int) port.Detached {
	b := &message.(*Message).buffer
	d := port.Detached{Lease: b.lease, Message: b.message}
	b.sent(to)
	return d
}

// Drop implements port.World.
func (w *actorPort) Drop(d port.Detached) {
	switch {
	case d.Message != nil:
		d.Message.Release()
	case d.Lease.Bytes != nil:
		_ = w.memory.arena.Free(d.Lease) // the lease has no other holder, so Free cannot fail
	}
}

// Received implements port.World.
func (w *actorPort) Received(m *engine.Message) any {
	return &Message{
		Status: Status{Source: m.Status.Source, Tag: AnyTag, Bytes: len(m.Bytes), size: 1},
		buffer: Buffer{world: (*World)(w), lease: arena.Lease{Bytes: m.Bytes}, message: m},
	}
}

// Wrap implements port.World.
func (w *actorPort) Wrap(source int, b []byte) any {
	m := &engine.Message{Bytes: b}
	m.Status.Source = source
	return w.Received(m)
}

// Hold implements port.World.
func (w *actorPort) Hold(n int) (any, error) {
	b, err := (*World)(w).alloc(n)
	if err != nil {
		return nil, err
	}
	return NewMessage(b)
}

// Release implements port.World.
func (w *actorPort) Release(message any) {
	if m := message.(*Message); m.buffer.world != nil {
		m.Close()
	}
}

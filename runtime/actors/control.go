package actors

import (
	"errors"
	"fmt"
	goruntime "runtime"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
	"github.com/gorun-hpc/gorun/runtime/actors/internal/deadlock"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// control sends a message that needs no credit: a probe, or a system message of protoactor. If the
// stream was closed, control repeats the send on a new stream. The error is an error of the engine, such
// as the loss of the rank, or a failure to encode h.
func (r *remote) control(kind int, number uint32, h *codec.Head, body []byte) error {
	defer goruntime.KeepAlive(r)
	for {
		l, err := r.openStream()
		if err != nil {
			return err
		}
		head, err := h.Append(nil, r.s.Address())
		if err != nil {
			return err
		}
		_, err = r.s.engine.SendActorMessage(l, r.words(l, kind, number, h, len(head)), head, body, 0)
		if !errors.Is(err, engine.ErrStreamClosed) {
			return err
		}
	}
}

// probe sends a probe. It ignores errors, because the loss of the rank ends the actors' waits anyway.
func (r *remote) probe(p deadlock.Probe) {
	_ = r.control(codec.KindProbe, 0, &codec.Head{}, p.Append(nil))
}

// Stop implements actor.Process.
func (r *remote) Stop(pid *actor.PID) { r.SendSystemMessage(pid, &actor.Stop{}) }

// SendSystemMessage implements actor.Process. Parent and child are always on the same rank. Therefore
// the system messages that protoactor sends only between parent and child become dead letters here.
func (r *remote) SendSystemMessage(pid *actor.PID, message any) {
	r.sendSystem(pid, message, r.key, "")
}

// sendSystem sends a system message to the receiver that key identifies. If name is empty, the receiver
// is the actor of r. Otherwise the receiver is the future with this name, and r is the nameless remote
// of the future's rank (see namelessOf).
func (r *remote) sendSystem(pid *actor.PID, message any, key remoteKey, name string) {
	h := codec.Head{Name: name}
	var body []byte
	var number uint32
	switch m := message.(type) {
	case *actor.Watch:
		r.s.fence(m.Watcher)
		if !r.s.watch(key, m.Watcher, pid) {
			r.s.tellSystem(m.Watcher, &actor.Terminated{Who: pid, Why: actor.TerminatedReason_AddressTerminated})
			return
		}
		number, h.Sender = codec.NumberWatch, m.Watcher
	case *actor.Unwatch:
		r.s.unwatchOwn(key, m.Watcher)
		if r.s.watcherOf(key, m.Watcher.Id) != nil {
			return // a later actor with the watcher's name watches; the other rank cannot tell the two apart
		}
		number, h.Sender = codec.NumberUnwatch, m.Watcher
	case *actor.Terminated:
		r.s.unwatchedBy(key.rank, m.Who.Id, pid)
		number, h.Sender, body = codec.NumberTerminated, m.Who, []byte{byte(m.Why)}
	case *actor.Stop:
		number = codec.NumberStop
	default:
		r.s.deadLetter(pid, message, fmt.Errorf("system message %T cannot be sent to an actor of another rank", message))
		return
	}
	// If the message cannot be sent, a Stop becomes a dead letter, and a Watch is answered by Terminated. The other
	// system messages would have no effect and are discarded.
	switch err := r.control(codec.KindSystem, number, &h, body); {
	case err == nil && number == codec.NumberUnwatch:
		// Perhaps a later actor with the name of the watcher has begun its own watch just before the Unwatch was sent.
		// The Unwatch has ended this watch at the other rank, so a new Watch is sent.
		if later := r.s.watcherOf(key, h.Sender.Id); later != nil {
			_ = r.control(codec.KindSystem, codec.NumberWatch, &codec.Head{Name: name, Sender: later}, nil)
		}
	case err == nil:
	case number == codec.NumberStop:
		r.s.deadLetter(pid, message, err)
	case number == codec.NumberWatch && r.s.unwatch(key.rank, h.Sender.Id, key.id) != nil:
		r.s.tellSystem(h.Sender, &actor.Terminated{Who: pid, Why: actor.TerminatedReason_AddressTerminated})
	}
}

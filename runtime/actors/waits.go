package actors

import (
	"github.com/gorun-hpc/gorun/runtime/actors/internal/deadlock"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// waiting is a message in the outbox of an actor. It is stored at its addressee (a mailbox or a
// remote), where it waits for space or credit. owner is the mailbox of the sending actor, nil if no
// actor has sent the message.
type waiting struct {
	item
	owner *mailbox
}

// reprieveLength is the number of messages that an actor in a cycle handles before it waits again and sends
// further probes.
const reprieveLength = 256

// waits records which actors of this rank wait, and for which targets. A target is a *mailbox or a *remote.
// The purpose is to find cycles. Actors in a cycle run although their outboxes are not empty.
type waits = deadlock.Detector[*mailbox, any]

// hold records that a message of an actor waits for target, a *mailbox or a *remote. bytes is the
// message's weight, and owner is the actor's mailbox. begins is true if no bytes of the actor waited for
// this target before; in this case the caller must call probe. If the outbox has no space, held is false
// and nothing is recorded. If the sender is not an actor, owner is nil; in this case held is true and
// nothing is recorded. The goroutine that runs the actor calls hold.
func (s *System) hold(owner *mailbox, target any, bytes int64) (begins, held bool) {
	if owner == nil {
		return false, true
	}
	if begins, held = s.waits.Hold(owner, target, bytes, int64(s.cfg.Outbox)); held {
		if owner.outbox.Load() == 0 {
			// The wait begins, so the reprieve of an earlier wait ends. release must not end it: meanwhile
			// the actor may wait again, with a reprieve of the new wait.
			owner.reprieve.Store(0)
		}
		owner.outbox.Add(bytes)
	}
	return begins, held
}

// release is the inverse of hold. It wakes the actor when none of its messages waits any more.
func (s *System) release(owner *mailbox, target any, bytes int64) {
	if owner == nil {
		return
	}
	s.waits.Release(owner, target, bytes)
	if owner.outbox.Add(-bytes) == 0 {
		owner.wake()
	}
}

// probe sends a new probe to targets for which an actor waits. This actor is the origin of the probe. The
// argument who is its mailbox.
func (s *System) probe(who *mailbox, targets ...any) {
	if who.pid != nil && len(targets) > 0 {
		s.passProbe(s.waits.Begin(deadlock.Origin{Rank: s.Rank(), ID: who.pid.Id}), targets)
	}
}

// passProbe sends a probe to targets of this rank or of other ranks.
func (s *System) passProbe(p deadlock.Probe, targets []any) {
	for _, target := range targets {
		switch target := target.(type) {
		case *mailbox:
			s.probed(p, target)
		case *remote:
			target.probe(p)
		}
	}
}

// probed handles a probe that has reached an actor of this rank. An actor that gets its own probe back is
// in a cycle. It gets a reprieve: it may handle reprieveLength messages although its outbox is not empty.
// Any other probe is passed on to the targets for which the actor waits.
func (s *System) probed(p deadlock.Probe, m *mailbox) {
	if p.Origin.Rank == s.Rank() && m.pid != nil && p.Origin.ID == m.pid.Id {
		m.reprieve.Store(reprieveLength)
		m.wake()
		return
	}
	s.passProbe(p, s.waits.Pass(p, m))
}

// running returns the actor that the calling goroutine runs, or nil, and reports whether the calling
// goroutine is the serving goroutine.
func (s *System) running() (who *mailbox, serving bool) {
	g := engine.Goroutine()
	if g == s.inbound.goroutine.Load() {
		return s.inbound.box, true
	}
	return s.workers.box(g), false
}

package actors

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// waiting is a message in the outbox of an actor: in the queue of who it is for,
// but for room there. owner is nil if no actor sent it.
type waiting struct {
	item
	owner *mailbox
}

// reprieveLength is the number of messages that an actor in a cycle takes before
// it waits, and asks, again.
const reprieveLength = 256

// waits knows which actor waits for whom, and finds cycles by probes, as Chandy,
// Misra and Haas do (Distributed deadlock detection, 1983): an actor that begins
// to wait asks who it waits for, who asks on if he waits himself; an actor that
// gets its own probe back is in a cycle. Actors in a cycle run although their
// outboxes are not empty.
type waits struct {
	s *System

	// mu guards the fields below it. It is taken when outboxes fill and empty,
	// never else, and nothing is called with it held.
	mu sync.Mutex
	// actors are those that wait.
	actors map[*mailbox]*waiter
	number uint32 // of the last probe
}

// waiter is an actor that waits.
type waiter struct {
	at map[any]int64 // *mailbox or *remote: bytes that wait there
	// seen is the newest probe of each origin that was passed on.
	seen map[probeOrigin]uint32
}

// probeOrigin is the actor that a probe is about.
type probeOrigin struct {
	rank int
	id   string
}

// probe asks whether the origin waits for itself.
type probe struct {
	origin probeOrigin
	number uint32
}

// init makes the zero value usable.
func (w *waits) init(s *System) { w.s, w.actors = s, make(map[*mailbox]*waiter) }

// hold enters bytes of an actor that wait for somebody, a *mailbox or a *remote.
// It returns whether nothing of it waited there before: then it is to ask. held is
// false, and nothing entered, if the outbox has no room. No owner has room always.
func (w *waits) hold(owner *mailbox, other any, bytes int64) (begins, held bool) {
	if owner == nil {
		return false, true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if had := owner.outbox.Load(); had > 0 && had+bytes > int64(w.s.cfg.Outbox) {
		return false, false
	}
	a := w.actors[owner]
	if a == nil {
		a = &waiter{at: make(map[any]int64), seen: make(map[probeOrigin]uint32)}
		w.actors[owner] = a
	}
	had := a.at[other]
	a.at[other] = had + bytes
	owner.outbox.Add(bytes)
	return had == 0, true
}

// release is the inverse of hold. The actor runs on when nothing of it waits.
func (w *waits) release(owner *mailbox, other any, bytes int64) {
	if owner == nil {
		return
	}
	w.mu.Lock()
	free := owner.outbox.Add(-bytes) == 0
	if a := w.actors[owner]; a != nil {
		if a.at[other] -= bytes; a.at[other] == 0 {
			delete(a.at, other)
		}
		if len(a.at) == 0 {
			delete(w.actors, owner)
		}
	}
	w.mu.Unlock()
	if free {
		owner.reprieve.Store(0)
		owner.wake()
	}
}

// probe asks on behalf of an actor that waits for other.
func (s *System) probe(who *mailbox, other any) {
	if who.pid == nil {
		return
	}
	s.waits.mu.Lock()
	s.waits.number++
	p := probe{probeOrigin{s.Rank(), who.pid.Id}, s.waits.number}
	s.waits.mu.Unlock()
	s.ask(p, other)
}

// probeAgain asks about everybody an actor still waits for, after a reprieve.
func (s *System) probeAgain(who *mailbox) {
	for _, other := range s.waits.others(who) {
		s.probe(who, other)
	}
}

// others lists who an actor waits for.
func (w *waits) others(who *mailbox) []any {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.actors[who]
	if a == nil {
		return nil
	}
	all := make([]any, 0, len(a.at))
	for other := range a.at {
		all = append(all, other)
	}
	return all
}

// ask passes a probe on to who is waited for.
func (s *System) ask(p probe, other any) {
	switch other := other.(type) {
	case *mailbox:
		s.asked(p, other)
	case *remote:
		other.ask(p)
	}
}

// asked is a probe that reached an actor of this rank.
func (s *System) asked(p probe, m *mailbox) {
	if p.origin.rank == s.Rank() && m.pid != nil && p.origin.id == m.pid.Id {
		m.reprieve.Store(reprieveLength)
		m.wake()
		return
	}
	s.waits.mu.Lock()
	a := s.waits.actors[m]
	if a == nil || int32(p.number-a.seen[p.origin]) <= 0 && a.seen[p.origin] != 0 {
		s.waits.mu.Unlock()
		return
	}
	a.seen[p.origin] = p.number
	s.waits.mu.Unlock()
	for _, other := range s.waits.others(m) {
		s.ask(p, other)
	}
}

// append appends the body of a probe: rank and number, 32 bits each, little
// endian, and the origin's id.
func (p probe) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(p.origin.rank))
	b = binary.LittleEndian.AppendUint32(b, p.number)
	return append(b, p.origin.id...)
}

// parseProbe is the inverse of append.
func parseProbe(b []byte) (probe, error) {
	if len(b) < 8 {
		return probe{}, fmt.Errorf("%w: probe of %d bytes", errWire, len(b))
	}
	return probe{
		origin: probeOrigin{int(binary.LittleEndian.Uint32(b)), string(b[8:])},
		number: binary.LittleEndian.Uint32(b[4:]),
	}, nil
}

// running returns the actor that the calling goroutine runs, if it does, and
// whether it is the serving one.
func (s *System) running() (who *mailbox, serving bool) {
	g := engine.Goroutine()
	if g == s.post.goroutine.Load() {
		return s.post.box, true
	}
	return s.workers.box(g), false
}

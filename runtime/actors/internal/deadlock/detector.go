package deadlock

import (
	"encoding/binary"
	"maps"
	"slices"
	"sync"
)

// Origin identifies the actor on whose behalf a probe is sent.
type Origin struct {
	Rank int
	ID   string
}

// Probe is a message that finds out whether its origin waits for an actor that, directly or through
// other actors, waits for the origin.
type Probe struct {
	Origin Origin
	// Number identifies a probe among the probes of its origin. A later probe has a larger number,
	// modulo 2^32.
	Number uint32
}

// Detector records which actors of one rank wait, and the targets for which each of them waits. A
// target is an actor of this rank or of another rank. Any goroutine may use a Detector.
type Detector[Actor, Target comparable] struct {
	// mu guards all fields. It is locked only for messages that have to wait and for probes.
	mu     sync.Mutex
	actors map[Actor]*waiter[Target]
	number uint32 // Number of the last probe that Begin has returned
}

// waiter is an actor that waits.
type waiter[Target comparable] struct {
	at    map[Target]int64 // bytes of the actor's messages that wait for each target
	total int64            // the sum over all targets
	// seen holds, for each origin, the Number of the newest probe that Pass has passed on.
	seen map[Origin]uint32
}

// Hold records that a message of an actor waits for a target. The argument who is the actor, and
// bytes is the length of the message. If the sum of the actor's waiting bytes would exceed limit,
// Hold records nothing and held is false. If the actor does not wait yet, its message is admitted at
// any length. begins reports whether no bytes of the actor waited for this target before; the caller
// then has to send a probe.
func (d *Detector[Actor, Target]) Hold(who Actor, target Target, bytes, limit int64) (begins, held bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.actors[who]
	switch {
	case w == nil:
		w = &waiter[Target]{at: make(map[Target]int64), seen: make(map[Origin]uint32)}
		if d.actors == nil {
			d.actors = make(map[Actor]*waiter[Target])
		}
		d.actors[who] = w
	case w.total+bytes > limit:
		return false, false
	}
	had := w.at[target]
	w.at[target] = had + bytes
	w.total += bytes
	return had == 0, true
}

// Release undoes one or several Holds of an actor for a target, when their messages no longer wait. bytes is the sum
// of the bytes of these Holds.
func (d *Detector[Actor, Target]) Release(who Actor, target Target, bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.actors[who]
	if w == nil {
		return
	}
	w.total -= bytes
	if w.at[target] -= bytes; w.at[target] == 0 {
		delete(w.at, target)
	}
	if len(w.at) == 0 {
		delete(d.actors, who)
	}
}

// Begin returns a new probe whose origin is an actor of this rank.
func (d *Detector[Actor, Target]) Begin(origin Origin) Probe {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.number++
	return Probe{origin, d.number}
}

// Targets returns the targets for which an actor waits, in any order.
func (d *Detector[Actor, Target]) Targets(who Actor) []Target {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := d.actors[who]; w != nil {
		return slices.Collect(maps.Keys(w.at))
	}
	return nil
}

// Pass returns the targets to which the caller has to pass on probe p. The argument at is the actor that
// the probe has reached. If this actor does not wait, or has already passed on p or a newer probe of the
// same origin, Pass returns no targets.
func (d *Detector[Actor, Target]) Pass(p Probe, at Actor) []Target {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.actors[at]
	if w == nil {
		return nil
	}
	if last, seen := w.seen[p.Origin]; seen && int32(p.Number-last) <= 0 {
		return nil
	}
	w.seen[p.Origin] = p.Number
	return slices.Collect(maps.Keys(w.at))
}

// Append appends the encoding of p: the rank and the number in 32 bits each, little endian, then the
// ID of the origin.
func (p Probe) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(p.Origin.Rank))
	b = binary.LittleEndian.AppendUint32(b, p.Number)
	return append(b, p.Origin.ID...)
}

// Parse is the inverse of Append. It returns ok = false if b is malformed.
func Parse(b []byte) (p Probe, ok bool) {
	if len(b) < 8 {
		return p, false
	}
	p.Origin = Origin{int(binary.LittleEndian.Uint32(b)), string(b[8:])}
	p.Number = binary.LittleEndian.Uint32(b[4:])
	return p, true
}

package deadlock

import (
	"encoding/binary"
	"maps"
	"slices"
	"sync"
)

// Origin is the actor that a probe is about.
type Origin struct {
	Rank int
	ID   string
}

// Probe asks whether its origin waits for itself.
type Probe struct {
	Origin Origin
	// Number identifies a probe of its origin. It grows.
	Number uint32
}

// Detector records the waiting actors of one rank and the targets of each: actors of this rank or of
// others. Any goroutine may use it.
type Detector[Actor, Target comparable] struct {
	// mu is taken only when an actor begins or ends to wait, and for probes.
	mu     sync.Mutex
	actors map[Actor]*waiter[Target]
	number uint32 // of the last probe
}

// waiter is an actor that waits.
type waiter[Target comparable] struct {
	at    map[Target]int64 // bytes that wait for each target
	total int64
	// seen is the number of the newest probe of each origin that was passed on.
	seen map[Origin]uint32
}

// Hold records that bytes of an actor wait for a target. It admits at most limit bytes of one actor,
// but always one message. begins says that no bytes of the actor waited for the target before,
// so that a probe is due. held is false, and nothing is recorded, if the limit is exceeded.
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

// Release is the inverse of Hold.
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

// Begin returns a new probe of an actor of this rank.
func (d *Detector[Actor, Target]) Begin(origin Origin) Probe {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.number++
	return Probe{origin, d.number}
}

// Targets lists the targets that an actor waits for.
func (d *Detector[Actor, Target]) Targets(who Actor) []Target {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.targets(who)
}

// Pass returns the targets that get a probe which has reached an actor. There are none if the actor
// does not wait, or has passed on this probe or a newer one.
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
	return d.targets(at)
}

// targets is Targets. mu is held.
func (d *Detector[Actor, Target]) targets(who Actor) []Target {
	w := d.actors[who]
	if w == nil {
		return nil
	}
	return slices.Collect(maps.Keys(w.at))
}

// Probes returns the number of probes of this rank.
func (d *Detector[Actor, Target]) Probes() uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.number
}

// Append appends the encoded probe: rank and number, 32 bits each, little endian, and the origin's
// id.
func (p Probe) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(p.Origin.Rank))
	b = binary.LittleEndian.AppendUint32(b, p.Number)
	return append(b, p.Origin.ID...)
}

// Parse is the inverse of Append. It returns false for malformed bytes.
func Parse(b []byte) (p Probe, ok bool) {
	if len(b) < 8 {
		return p, false
	}
	p.Origin = Origin{int(binary.LittleEndian.Uint32(b)), string(b[8:])}
	p.Number = binary.LittleEndian.Uint32(b[4:])
	return p, true
}

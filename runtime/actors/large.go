package actors

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// Where memory cannot change hands, a message that is too long for a parcel goes as
// a message of the engine, which chooses among its protocols; a parcel announces
// it, so that it keeps its place among the others:
//
//	sender                                      receiver
//	SendParcel(tagUser, followed)   ------->    Irecv into the arena
//	Isend                           =======>
//	                                            the inlet goes on when it is there
//
// The body of the announcement, after the head: length, 64 bits, and tag, 32 bits,
// little endian.

// contextLarge is the engine's context of long messages. No communicator has it.
const contextLarge = 1<<32 - 2

// announcementSize is the length of an announcement.
const announcementSize = 12

// push is a long message on its way out.
type push struct {
	handle  engine.Handle
	message any // a *runtime.Message
}

// pull is a long message on its way in.
type pull struct {
	handle  engine.Handle
	message any
	arrival arrival
}

// transfers are the long messages of a rank that are on their way.
type transfers struct {
	tags atomic.Uint32
	// mu guards pushes; the engine's lock may be held when it is taken.
	mu     sync.Mutex
	pushes []push
	pulls  []pull // the serving goroutine's
	some   atomic.Bool
}

// over reports whether one of them has ended. The engine's lock is held.
func (t *transfers) over() bool {
	if !t.some.Load() {
		return false
	}
	for i := range t.pulls {
		if t.pulls[i].handle.Over() {
			return true
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.pushes {
		if t.pushes[i].handle.Over() {
			return true
		}
	}
	return false
}

// sendLarge announces a message and sends it. The message is the runtime's from
// then on. It returns false if there is no credit.
func (r *remote) sendLarge(l *engine.Link, p engine.Parcel, head []byte, m any) (bool, error) {
	t := &r.s.post.transfers
	b, _ := r.s.world.Bytes(m)
	tag := t.tags.Add(1) & engine.TagMax
	body := binary.LittleEndian.AppendUint64(nil, uint64(len(b)))
	body = binary.LittleEndian.AppendUint32(body, tag)
	p.Tag = tagOf(tagLarge, len(head))
	sent, err := r.s.engine.SendParcel(l, p, head, body, r.cost(len(b)))
	if !sent {
		return false, err
	}
	own := r.s.world.Detach(m, r.key.rank)
	h := r.s.engine.Isend(engine.Match{Context: contextLarge, Peer: r.key.rank, Tag: int(tag)}, 0, b, engine.Standard, 0)
	t.mu.Lock()
	t.pushes = append(t.pushes, push{h, own})
	t.some.Store(true)
	t.mu.Unlock()
	return true, nil
}

// parseAnnouncement takes an announcement apart.
func parseAnnouncement(b []byte) (length, tag int, err error) {
	if len(b) != announcementSize || binary.LittleEndian.Uint64(b) > 1<<46 || binary.LittleEndian.Uint32(b[8:]) > engine.TagMax {
		return 0, 0, fmt.Errorf("%w: announcement of a long message", errWire)
	}
	return int(binary.LittleEndian.Uint64(b)), int(binary.LittleEndian.Uint32(b[8:])), nil
}

// heapMax is the longest message that is received outside of the arena if that has
// no room.
const heapMax = 64 << 20

// fetch begins to receive what an arrival announces. What comes later through its
// inlet waits until it is there. What finds no room is a dead letter: the receive
// that cuts it off lets its sender go on.
func (p *post) fetch(a *arrival) {
	length, tag, _ := parseAnnouncement(a.rare.bytes) // it was checked when it came
	room := length
	m, err := p.s.world.Hold(room)
	if err != nil {
		if room > heapMax {
			room, a.rare.codec = 0, nil
			a.rare.err = fmt.Errorf("long message of %d bytes: %w", length, err)
		}
		m = p.s.world.Wrap(int(a.source), make([]byte, room))
	}
	b, _ := p.s.world.Bytes(m)
	from := engine.Match{Context: contextLarge, Peer: int(a.source), Tag: tag}
	a.rare.large = false
	t := &p.transfers
	t.pulls = append(t.pulls, pull{p.s.engine.Irecv(from, 0, b, 0), m, *a})
	t.some.Store(true)
	if a.in != nil {
		a.in.pulling = true
	}
}

// settle ends the transfers that are over.
func (p *post) settle() {
	t := &p.transfers
	if !t.some.Load() {
		return
	}
	for i := 0; i < len(t.pulls); {
		if !t.pulls[i].handle.Look() {
			i++
			continue
		}
		done := t.pulls[i]
		t.pulls = append(t.pulls[:i], t.pulls[i+1:]...)
		p.pulled(&done)
	}
	t.mu.Lock()
	kept := t.pushes[:0]
	for _, o := range t.pushes {
		if !o.handle.Zero() && !o.handle.Look() {
			kept = append(kept, o)
			continue
		}
		_, _ = o.handle.Wait(context.Background()) // a loss is told of elsewhere
		p.s.world.Release(o.message)
	}
	clear(t.pushes[len(kept):])
	t.pushes = kept
	t.some.Store(len(t.pushes)+len(t.pulls) > 0)
	t.mu.Unlock()
}

// pulled delivers a long message that is there, and what waited behind it.
func (p *post) pulled(t *pull) {
	a := &t.arrival
	status, err := t.handle.Wait(context.Background())
	length, _, _ := parseAnnouncement(a.rare.bytes)
	if a.rare.codec == nil {
		err = nil // it was cut off
	} else if err == nil && status.Bytes != length {
		err = fmt.Errorf("%w: %d bytes were announced and %d came", errWire, length, status.Bytes)
	}
	switch {
	case err != nil:
		p.s.world.Release(t.message)
		err = fmt.Errorf("long message: %w", err)
		a.rare.err = err
	case a.rare.codec == nil:
		p.s.world.Release(t.message) // it is a dead letter
	case a.rare.codec == codecMessage:
		a.message, a.rare.codec = t.message, nil
	default:
		b, _ := p.s.world.Bytes(t.message)
		var bad error
		a.message, bad = a.rare.codec.decode(b)
		p.s.world.Release(t.message)
		if bad != nil {
			a.rare.err = fmt.Errorf("decode %s: %w", a.rare.codec.name, bad)
		}
		a.rare.codec = nil
	}
	in := a.in
	if in == nil {
		p.deliver(a)
		return
	}
	// What came after a message that is lost with its sender is lost, too: nobody
	// sees a gap.
	in.pulling, in.lost = false, err
	behind := in.take()
	p.deliver(a)
	for i := range behind {
		p.deliver(&behind[i])
	}
}

package shm

import (
	"sync/atomic"

	"github.com/gorun-hpc/gorun/transport"
)

// lane is the receiving end of a ring that a peer has taken.
type lane struct {
	ringReader
	slot   int // local rank of the writer
	number int
	wait   *uint64
	fence  bool
	// gone says that the lane is to be taken out of the list.
	gone bool
	// lastUsed is the count of polls at the last message.
	lastUsed uint64
}

func ringOf(control segment, number int) segment {
	return control.at(offRings+number*ringBytes, ringBytes)
}

func ringHead(control segment, number int) *uint64 {
	return control.word(offRingHeads + number*lineBytes)
}

func ringWait(control segment, number int) *uint64 {
	return control.word(offRingHeads + number*lineBytes + 8)
}

func ringOwner(control segment, number int) *uint64 {
	return control.word(offOwners + number*8)
}

// leaveInbox tries to move the lane into a ring of the peer. The record that
// says so is the last one in the inbox. If there is no free ring, or no room for
// the record, the lane stays where it is.
func (e *endpoint) leaveInbox() {
	me := uint64(e.t.cfg.LocalRank) + 1
	for k := range ringsPerRank {
		owner := ringOwner(e.control, k)
		if atomic.LoadUint64(owner) != 0 || !atomic.CompareAndSwapUint64(owner, 0, me) {
			continue
		}
		if e.inbox.put(kindLane, transport.Header{A: uint64(k)}, nil) != written {
			atomic.StoreUint64(owner, 0)
			return
		}
		e.ring = newRingWriter(ringOf(e.control, k), ringHead(e.control, k), e.inbox.fence)
		if l := e.t.lanes[e.slot]; l != nil {
			e.ring.answers = &l.pos
		}
		e.number = k
		e.alerts = alertArmed | alertRing(k)
		return
	}
	e.sent = ringAfter - ringRetry
	if atomic.LoadUint64(e.control.word(offWanted)) == 0 {
		atomic.StoreUint64(e.control.word(offWanted), 1)
	}
}

// returnRing moves the lane back into the inbox, as the peer has asked. If the
// ring has no room for the record that says so, a later call does it. The peer takes
// its wish back itself, when it reads the record: by then this rank may be stopped, and
// later the wish may be for the next writer.
func (e *endpoint) returnRing() {
	if e.ring.words == nil || e.ring.put(kindReturn, transport.Header{}, nil) != written {
		return
	}
	e.ring = ringWriter{}
	e.alerts = alertArmed
	e.sent = ringAfter - ringRetry
	if a := atomic.LoadUint64(e.alert); a&alertArmed != 0 {
		e.wake(a)
	}
}

// leave is the end of the lane when this rank closes.
func (e *endpoint) leave() {
	if e.ring.words != nil && e.down == nil {
		e.returnRing()
	}
	e.ring = ringWriter{}
}

// takeLane starts to read the ring a peer has moved into. ok is false if the
// ring is not the peer's.
func (t *Transport) takeLane(slot int, number uint64) bool {
	if number >= ringsPerRank || t.lanes[slot] != nil ||
		atomic.LoadUint64(ringOwner(t.control, int(number))) != uint64(slot)+1 {
		return false
	}
	for _, l := range t.rings {
		if l.number == int(number) && !l.gone {
			return false
		}
	}
	k := int(number)
	l := &lane{
		ringReader: newRingReader(ringOf(t.control, k), ringHead(t.control, k)),
		slot:       slot, number: k, wait: ringWait(t.control, k), lastUsed: t.polls,
		fence: t.endpoint(slot).inbox.fence,
	}
	t.lanes[slot] = l
	t.endpoint(slot).ring.answers = &l.pos
	t.rings = append(t.rings, l)
	return true
}

// freeLane makes a ring free for the next peer that wants one.
func (t *Transport) freeLane(l *lane) {
	l.gone = true
	t.lanes[l.slot] = nil
	t.freeRing(l.number)
}

// freeRing leaves a ring to a writer that begins at position 0: no word may pass for
// one of its records. The owner goes last.
func (t *Transport) freeRing(number int) {
	atomic.AndUint64(t.alert, ^alertRing(number))
	ring := ringOf(t.control, number)
	for off := 0; off < ringBytes; off += lineBytes {
		atomic.StoreUint64(ring.word(off), 0)
	}
	atomic.StoreUint64(ringWait(t.control, number), 0)
	atomic.StoreUint64(ringHead(t.control, number), 0)
	atomic.StoreUint64(ringOwner(t.control, number), 0)
}

// freeRings frees the rings of a peer that is reaped, also those that it had taken
// without saying so.
func (t *Transport) freeRings(slot int) {
	for k := range ringsPerRank {
		if atomic.LoadUint64(ringOwner(t.control, k)) == uint64(slot)+1 {
			t.freeRing(k)
		}
	}
}

// Rings that were unused for idlePolls polls are asked back when a peer wants
// one. The wish is looked at every lookPolls polls.
const (
	lookPolls = 256
	idlePolls = 4096
)

// reclaim asks for the ring that was unused longest, if some peer has found none
// free. Its writer is rung, since it may sleep.
func (t *Transport) reclaim() {
	wanted := t.control.word(offWanted)
	if len(t.rings) < ringsPerRank || atomic.LoadUint64(wanted) == 0 {
		return
	}
	asked := atomic.LoadUint64(t.alert)
	var oldest *lane
	for _, l := range t.rings {
		if asked&alertRing(l.number) == 0 && (oldest == nil || l.lastUsed < oldest.lastUsed) {
			oldest = l
		}
	}
	if oldest == nil || t.polls-oldest.lastUsed < idlePolls {
		return
	}
	atomic.StoreUint64(wanted, 0)
	atomic.OrUint64(t.alert, alertRing(oldest.number))
	t.endpoint(oldest.slot).bell.Ring()
}

// returnRings gives rings back that peers have asked for while we had nothing to
// send to them.
func (t *Transport) returnRings() {
	for _, e := range t.endpoints {
		if e != nil && e.ring.words != nil && e.down == nil {
			if a := atomic.LoadUint64(e.alert); a&e.alerts&^alertArmed != 0 {
				e.returnRing()
			}
		}
	}
}

package shm

import (
	"sync/atomic"

	"github.com/gorun-hpc/gorun/transport"
)

// lane is the receiving end of a ring that a peer has claimed.
type lane struct {
	ringReader
	slot   int // local rank of the writer
	number int
	wait   *uint64
	fence  bool
	// gone is true if dropGone has to remove the lane from Transport.rings.
	gone bool
	// emptied is true if the last read of the ring has handed over all records in it. spent is the result of the
	// computation in fallBehind.
	emptied bool
	spent   uint64
	// lastUsed is the value of Transport.polls when the ring last had a message.
	lastUsed uint64
}

// ringOf returns a segment of ringBytes bytes, at the beginning of which is a ring of length bytes.
func ringOf(control segment, number int, length uint64) segment {
	return control.at(offRings+number*int(length), ringBytes)
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

// leaveInbox tries to move the lane into a ring of the peer. It claims a free ring and announces the
// ring by a kindLane record, which is the lane's last record in the inbox. If there is no free ring,
// or no room in the inbox for this record, the lane stays in the inbox.
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
		e.ring = newRingWriter(ringOf(e.control, k, e.t.node.ring), e.t.node.ring, ringHead(e.control, k), e.inbox.fence)
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

// returnRing moves the lane back into the inbox. The peer has requested this in its alert word, or this
// rank closes. returnRing announces the move by a kindReturn record, which is the last record in the
// ring. If the ring has no room for the record, a later call moves the lane, unless this rank closes.
// The peer itself clears its request when it reads the record. This rank must not clear the request: if
// this rank were stopped before it clears the request, it might later clear a request to the ring's
// next writer.
func (e *endpoint) returnRing() {
	if e.ring.words == nil || e.ring.put(kindReturn, transport.Header{}, nil) != written {
		return
	}
	e.prepared = e.prepared && e.ring.tail == lineBytes
	e.ring = ringWriter{}
	e.alerts = alertArmed
	e.sent = ringAfter - ringRetry
	if a := atomic.LoadUint64(e.alert); a&alertArmed != 0 {
		e.wake(a)
	}
}

// leave gives the ring back when this rank closes. It does nothing if the lane is in the inbox.
func (e *endpoint) leave() {
	if e.ring.words != nil && e.down == nil {
		e.returnRing()
	}
	e.ring = ringWriter{}
}

// takeLane starts to read the ring into which a peer has moved its lane. It returns false for an
// announcement that a correct peer never sends: there is no such ring, the peer has not claimed the
// ring, this rank already reads the ring, or the peer has another ring.
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
		ringReader: newRingReader(ringOf(t.control, k, t.node.ring), t.node.ring, ringHead(t.control, k)),
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
	if l.pos > lineBytes { // the lane held more than the record of its return
		t.endpoint(l.slot).prepared = false
	}
	t.freeRing(l.number, min(l.pos, t.node.ring))
}

// freeRing resets a ring for the next writer. The next writer begins at position 0, and a word of
// the last writer must not look like a record of the next writer. used is the number of bytes at the
// beginning of the ring that the last writer can have written. Pages after them may have no memory yet.
// freeRing clears the owner last, because any peer may claim the ring after that.
func (t *Transport) freeRing(number int, used uint64) {
	atomic.AndUint64(t.alert, ^alertRing(number))
	ring := ringOf(t.control, number, t.node.ring)
	for off := uint64(0); off < used; off += lineBytes {
		atomic.StoreUint64(ring.word(int(off)), 0)
	}
	atomic.StoreUint64(ringWait(t.control, number), 0)
	atomic.StoreUint64(ringHead(t.control, number), 0)
	atomic.StoreUint64(ringOwner(t.control, number), 0)
}

// freeRings frees all rings of a peer that was reaped, including a ring that the peer had claimed
// but not announced.
func (t *Transport) freeRings(slot int) {
	for k := range ringsPerRank {
		if atomic.LoadUint64(ringOwner(t.control, k)) == uint64(slot)+1 {
			t.freeRing(k, t.node.ring)
		}
	}
}

// When a peer has found no free ring, this rank asks another peer to give back a ring that had no
// message for idlePolls polls. Every lookPolls polls, this rank checks whether it has to ask, and
// whether a peer has asked this rank.
const (
	lookPolls = 256
	idlePolls = 4096
)

// reclaim asks the writer of the least recently used ring to give it back, if a peer has found no
// free ring. It rings the writer, because the writer may be asleep.
func (t *Transport) reclaim() {
	wanted := t.control.word(offWanted)
	if atomic.LoadUint64(wanted) == 0 || t.hasFreeRing() {
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

// hasFreeRing reports whether a peer can claim a ring. The ring of a peer that was given up is not free, although this
// rank does not read it any more.
func (t *Transport) hasFreeRing() bool {
	for k := range ringsPerRank {
		if atomic.LoadUint64(ringOwner(t.control, k)) == 0 {
			return true
		}
	}
	return false
}

// returnRings gives back the rings that peers have requested. Send also gives rings back.
// returnRings is for peers to which this rank sends no messages.
func (t *Transport) returnRings() {
	for _, e := range t.endpoints {
		if e != nil && e.ring.words != nil && e.down == nil {
			if a := atomic.LoadUint64(e.alert); a&e.alerts&^alertArmed != 0 {
				e.returnRing()
			}
		}
	}
}

package shm

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/transport"
)

var errReentered = errors.New("poll from within a handler")

// Poll implements transport.Transport. Each ring and the inbox get a share of the budget. A ring
// that had a message moves one place forward in the list, so that the busy rings come first.
func (t *Transport) Poll(h transport.Handler, budget int) (int, error) {
	if t.closed || t.reading {
		return 0, t.refusePoll()
	}
	t.reading = true
	t.polls++
	if t.news.Load() {
		t.absorb()
	}
	if len(t.rings) > 0 && t.rings[0].emptied {
		t.rings[0].fallBehind(budget)
	}
	if t.watch() && budget == 1 && t.polls%fairPolls != 0 {
		events := t.readRing(h, t.rings[0], 1)
		t.reading = false
		return events, nil
	}
	events := t.readLanes(h, max(budget, 1))
	if len(t.bulk.ops)+len(t.bulk.serves)+len(t.bulk.helps) > 0 {
		events += t.moveBulk(h)
	}
	if len(t.leaving) > 0 {
		events += t.settle(h)
	}
	if t.polls%lookPolls == 0 {
		t.reclaim()
		t.returnRings()
		t.relax()
	}
	t.reading = false
	if t.inboxDamaged {
		return events, t.failure("poll", -1, transport.ErrDamaged)
	}
	return events, nil
}

// readLanes hands over up to budget records. If the budget does not suffice for all lanes, the
// next call begins with the lanes that were not read.
func (t *Transport) readLanes(h transport.Handler, budget int) int {
	share := max(1, budget/(len(t.rings)+1))
	events := 0
	if t.inboxFirst {
		t.inboxFirst = false
		events += t.readInbox(h, share)
	}
	for i := 0; i < len(t.rings) && events < budget; i++ {
		l := t.rings[i]
		if l.poll() == 0 {
			continue
		}
		events += t.readRing(h, l, min(share, budget-events))
		switch {
		case l.gone:
			i--
		case events >= budget && i+1 < len(t.rings):
			slices.Reverse(t.rings[:i+1])
			slices.Reverse(t.rings[i+1:])
			slices.Reverse(t.rings) // now rings i+1 to the last come first
		case i > 0:
			t.rings[i], t.rings[i-1] = t.rings[i-1], l
		}
	}
	if events < budget {
		return events + t.readInbox(h, min(share, budget-events))
	}
	t.inboxFirst = true
	return events
}

// watchLooks is the number of times that a Poll checks the first ring, which is a busy ring, before
// it checks all lanes. A check of all lanes takes some 20 ns, and a check of one ring 1 ns. If two
// ranks alternately send each other messages (a dialogue), the repeated checks of the first ring
// find the answer up to 20 ns earlier. If there is only one ring, Poll checks it watchAlone times.
const (
	watchLooks = 32
	watchAlone = 96
)

// fairPolls concerns Polls with a budget of one record that find a record in the first ring. Of
// fairPolls consecutive Polls, one checks all lanes. The other Polls hand over only the record in
// the first ring. Usually this record is the answer in a dialogue, and the dialogue is 5 to 7
// percent faster because the other lanes are not checked (measured).
const fairPolls = 8

// watch checks the first ring up to watchLooks or watchAlone times, and reports whether the ring
// has a record.
func (t *Transport) watch() bool {
	if len(t.rings) == 0 {
		return false
	}
	looks := watchLooks
	if len(t.rings) == 1 {
		looks = watchAlone
	}
	l := t.rings[0]
	for range looks {
		if l.poll() != 0 {
			return true
		}
	}
	return false
}

func (t *Transport) refusePoll() error {
	if t.closed {
		return t.failure("poll", -1, transport.ErrClosed)
	}
	return t.failure("poll", -1, errReentered)
}

// readRing hands over up to limit records of a ring.
func (t *Transport) readRing(h transport.Handler, l *lane, limit int) int {
	l.lastUsed, l.emptied = t.polls, false
	peer := t.cfg.Peers[l.slot]
	for n := range limit {
		w := l.poll()
		if w == 0 {
			l.emptied = true
			return n
		}
		kind, header, payload, ok := l.record(w)
		if ok && kind == kindMessage {
			h.Arrive(peer, header, payload)
		} else if !ok || !t.note(l.slot, kind, header) {
			t.damage(l)
			return n + 1
		}
		if l.advance(kind, uint64(len(payload))) {
			t.roomInRing(l)
		}
		if kind == kindReturn {
			t.freeLane(l)
			t.dropGone()
			return n + 1
		}
	}
	return limit
}

// roomInRing wakes the writer of a ring if the writer sleeps until there is room.
func (t *Transport) roomInRing(l *lane) {
	if l.fence {
		atomic.StoreUint64(l.head, l.freed)
	}
	if atomic.LoadUint64(l.wait) != 0 {
		atomic.StoreUint64(l.wait, 0)
		t.endpoint(l.slot).bell.Ring()
	}
}

// dropGone removes the lanes that are gone from t.rings.
func (t *Transport) dropGone() {
	kept := t.rings[:0]
	for _, l := range t.rings {
		if !l.gone {
			kept = append(kept, l)
		}
	}
	clear(t.rings[len(kept):])
	t.rings = kept
}

// damage ends a lane whose ring has contents that a correct peer never writes. No other peer gets
// the ring before the writer of the ring is reaped, because the writer may still write to it.
func (t *Transport) damage(l *lane) {
	l.gone = true
	t.lanes[l.slot] = nil
	t.dropGone()
	t.distrust(l.slot)
}

// readInbox hands over up to limit records of the inbox.
func (t *Transport) readInbox(h transport.Handler, limit int) int {
	events := 0
	for events < limit {
		w, any := t.inbox.poll()
		if !any || t.inboxDamaged {
			break
		}
		state, lines, rank, ok := parseSlot(w, t.inbox.pos)
		if !ok || state == slotFree || rank >= uint64(t.node.ranks) {
			t.inboxDamaged = true
			break
		}
		slot := int(rank)
		if state == slotClaimed && !t.reaped[slot] {
			break
		}
		if state != slotPublished || t.inbox.pos >= t.until[slot] {
			t.inbox.moveTail(lines)
			t.advanceInbox(lines)
			events++
			continue
		}
		if l := t.lanes[slot]; l != nil {
			// The peer has returned to the inbox. The records in its ring are older than the record
			// in the inbox.
			events += t.readRing(h, l, limit-events)
			if !l.gone && l.poll() == 0 {
				t.damage(l) // the record that announces the return is missing
			}
			continue // the ring may be damaged, so that the record in the inbox is discarded
		}
		t.readSlot(h, slot, lines)
		events++
	}
	return events
}

// readSlot hands over the record at the current position of the inbox.
func (t *Transport) readSlot(h transport.Handler, slot int, lines uint64) {
	kind, header, payload, ok := t.inbox.record(lines)
	switch {
	case ok && kind == kindMessage:
		h.Arrive(t.cfg.Peers[slot], header, payload)
	case ok && kind == kindLane:
		ok = t.takeLane(slot, header.A)
	case ok:
		ok = kind != kindReturn && kind != kindSkip && t.note(slot, kind, header)
	}
	if !ok {
		t.distrust(slot)
	}
	t.advanceInbox(lines)
}

// advanceInbox moves past a record of the inbox and wakes the senders that wait for room.
func (t *Transport) advanceInbox(lines uint64) {
	if !t.inbox.advance(lines) {
		return
	}
	// Any rank may be a producer, including a rank without barriers. A store with a fence is
	// correct for all producers. It costs little, because it happens only once for each quarter of
	// the inbox.
	atomic.StoreUint64(t.inbox.head, t.inbox.freed)
	if atomic.LoadUint64(t.inbox.wait) == 0 {
		return
	}
	waiting := atomic.SwapUint64(t.inbox.wait, 0)
	for slot := range t.node.ranks {
		if waiting&waitBit(slot) != 0 && slot != t.cfg.LocalRank {
			t.node.bell(slot).Ring()
		}
	}
}

// waitBit returns the bit of a local rank in the word of inbox waiters. Ranks that share a bit
// are woken together.
func waitBit(slot int) uint64 { return 1 << (slot % 64) }

// note handles a record of the transport itself. It returns false if a correct peer never sends
// this record.
func (t *Transport) note(slot int, kind uint8, h transport.Header) bool {
	switch kind {
	case kindSkip, kindReturn:
		return true
	case kindAssist:
		return t.assist(slot, h)
	case kindServe:
		return t.serve(slot, h)
	}
	return false
}

// Arm implements transport.Transport.
func (t *Transport) Arm() bool {
	if t.closed || t.news.Load() || t.restless() {
		return false
	}
	t.returnRings()
	atomic.AddUint64(t.alert, alertGeneration)
	atomic.OrUint64(t.alert, alertArmed)
	t.askForRoom()
	if !t.fences {
		t.barrier()
	}
	if t.arrived() || t.news.Load() || t.answered() || t.roomAppeared() {
		t.Disarm()
		return false
	}
	return true
}

// Disarm implements transport.Transport.
func (t *Transport) Disarm() { atomic.AndUint64(t.alert, ^uint64(alertArmed)) }

// arrived reports whether a ring or the inbox has a record to read. A claim at the current position
// of the inbox counts only if its producer is reaped.
func (t *Transport) arrived() bool {
	for _, l := range t.rings {
		if l.poll() != 0 {
			return true
		}
	}
	w, any := t.inbox.poll()
	if !any || t.inboxDamaged {
		return false
	}
	state, _, rank, ok := parseSlot(w, t.inbox.pos)
	return !ok || state != slotClaimed || rank < uint64(len(t.reaped)) && t.reaped[rank]
}

// askForRoom asks the peers whose lanes were full to ring when they have made room.
func (t *Transport) askForRoom() {
	for _, e := range t.blocked {
		if e.ring.words != nil {
			atomic.StoreUint64(ringWait(e.control, e.number), 1)
		} else {
			atomic.OrUint64(e.inbox.wait, waitBit(t.cfg.LocalRank))
		}
	}
}

// roomAppeared reports whether a lane that was full has room, or whether the peer of such a lane is
// lost. If it returns true, it has emptied the list of blocked endpoints, because the engine sends
// again after its next Poll.
func (t *Transport) roomAppeared() bool {
	appeared := false
	for _, e := range t.blocked {
		appeared = appeared || e.down != nil || e.hasRoom()
	}
	if appeared {
		for _, e := range t.blocked {
			e.blocked = false
		}
		t.blocked = t.blocked[:0]
	}
	return appeared
}

// hasRoom reports whether the lane has room for the longest record and a skip record before it, or, in a
// ring, whether there is more room than when this rank last looked. This rank may have looked after the
// refusal, for a message that has been sent since.
func (e *endpoint) hasRoom() bool {
	if e.ring.words != nil {
		end := atomic.LoadUint64(e.ring.head) + e.ring.length
		return end != e.ring.limit || e.ring.tail+2*recordSize(maxEager) <= end
	}
	head := atomic.LoadUint64(e.inbox.head)
	tail := atomic.LoadUint64(e.inbox.tail)
	return tail+2*maxEager/lineBytes+2 <= head+inboxSlots
}

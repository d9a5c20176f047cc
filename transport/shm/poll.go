package shm

import (
	"errors"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/transport"
)

var errReentered = errors.New("poll from within a handler")

// Poll implements transport.Transport. Every ring and the inbox get a share of
// the budget; a ring that had a message moves one place forward, so that the busy ones come
// first.
func (t *Transport) Poll(h transport.Handler, budget int) (int, error) {
	if t.closed || t.reading {
		return 0, t.refusePoll()
	}
	t.reading = true
	t.polls++
	if t.news.Load() {
		t.absorb()
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

// readLanes hands over up to budget records. When the budget does not suffice
// for all, those that got nothing are the first the next time.
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
			t.rings = append(append(t.rings[:0:0], t.rings[i+1:]...), t.rings[:i+1]...)
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

// watchLooks is how often a poll looks at the first ring, which is a busy one, before it looks
// at everything else. A round of everything takes some 20 ns, a look one: in a dialogue the
// answer is seen that much earlier. The only ring is looked at watchAlone times.
const (
	watchLooks = 32
	watchAlone = 96
)

// fairPolls is how often, in polls, a poll for one record looks at everything. The others hand
// over a record of the first ring alone if there is one: mostly it is the answer in a dialogue,
// which is 5 to 7 percent faster for it (measured).
const fairPolls = 8

// watch looks at the first ring until something is there, for a moment, and reports whether
// something is.
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
	l.lastUsed = t.polls
	peer := t.cfg.Peers[l.slot]
	for n := range limit {
		w := l.poll()
		if w == 0 {
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

// roomInRing wakes the writer if it sleeps until there is room.
func (t *Transport) roomInRing(l *lane) {
	if l.fence {
		atomic.StoreUint64(l.head, l.freed)
	}
	if atomic.LoadUint64(l.wait) != 0 {
		atomic.StoreUint64(l.wait, 0)
		t.endpoint(l.slot).bell.Ring()
	}
}

// dropGone takes the lanes that are gone out of the list.
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

// damage ends a lane that holds what no correct peer writes. The ring is not
// given to anybody else, since its writer may live.
func (t *Transport) damage(l *lane) {
	l.gone = true
	t.dead[l.slot] = true
	t.lanes[l.slot] = nil
	t.dropGone()
	t.lose(t.cfg.Peers[l.slot], transport.ErrDamaged, false)
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
		if state == slotClaimed && !t.dead[slot] {
			break
		}
		if state != slotPublished || t.dead[slot] && !t.draining(slot) {
			t.inbox.moveTail(lines)
			t.advanceInbox(lines)
			events++
			continue
		}
		if l := t.lanes[slot]; l != nil {
			// The peer came back to the inbox: what it wrote into its ring is older.
			events += t.readRing(h, l, limit-events)
			if !l.gone {
				if l.poll() == 0 {
					t.damage(l) // without the record that leads back
				}
				continue
			}
		}
		t.readSlot(h, slot, lines)
		events++
	}
	return events
}

// readSlot hands over the record at the current position of the inbox.
func (t *Transport) readSlot(h transport.Handler, slot int, lines uint64) {
	kind, header, payload, ok := t.inbox.record(lines)
	peer := t.cfg.Peers[slot]
	switch {
	case ok && kind == kindMessage:
		h.Arrive(peer, header, payload)
	case ok && kind == kindLane:
		ok = t.takeLane(slot, header.A)
	case ok:
		ok = kind != kindReturn && kind != kindSkip && t.note(slot, kind, header)
	}
	if !ok {
		t.dead[slot] = true
		t.lose(peer, transport.ErrDamaged, false)
	}
	t.advanceInbox(lines)
}

// advanceInbox moves past a record of the inbox and wakes the senders that wait for room.
func (t *Transport) advanceInbox(lines uint64) {
	if !t.inbox.advance(lines) {
		return
	}
	// Producers may be any rank, also one without barriers, and this happens once
	// in a quarter of the inbox: the store with a fence serves them all.
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

// waitBit is the bit of a local rank among the inbox waiters. Ranks that share
// one are woken together.
func waitBit(slot int) uint64 { return 1 << (slot % 64) }

// note takes a record that is not for the engine. ok is false when no correct
// peer sends it here.
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
	if t.closed || t.news.Load() || t.bulk.restless() {
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

// arrived says that a ring or the inbox holds something to read.
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
	return !ok || state != slotClaimed || rank < uint64(len(t.dead)) && t.dead[rank]
}

// askForRoom asks the peers whose lanes were full to ring when they have read.
func (t *Transport) askForRoom() {
	for _, e := range t.blocked {
		if e.ring.words != nil {
			atomic.StoreUint64(ringWait(e.control, e.number), 1)
		} else {
			atomic.OrUint64(e.inbox.wait, waitBit(t.cfg.LocalRank))
		}
	}
}

// roomAppeared says that a lane that was full has room. The engine will try it
// again after its next Poll, so the list starts anew.
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

// hasRoom says that the lane has more room than at the last refusal.
func (e *endpoint) hasRoom() bool {
	if e.ring.words != nil {
		return atomic.LoadUint64(e.ring.head)+ringBytes != e.ring.limit
	}
	head := atomic.LoadUint64(e.inbox.head)
	tail := atomic.LoadUint64(e.inbox.tail)
	return tail+2*maxEager/lineBytes+2 <= head+inboxSlots
}

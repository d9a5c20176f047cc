package shm

import (
	"math"
	"slices"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/transport"
)

// forever is the element of Transport.until for a rank of which no loss is known.
const forever = math.MaxUint64

// loss is a call of MarkDown or GiveUp. reaped is true if it was a call of MarkDown.
type loss struct {
	peer   int
	cause  error
	reaped bool
}

// MarkDown implements transport.Transport. The messages that the peer has sent are handed over before the loss is
// reported. Then the rings of the peer are free.
func (t *Transport) MarkDown(peer int, cause error) { t.lose(loss{peer, cause, true}) }

// GiveUp implements transport.Transport. Messages of the peer in the inbox are discarded. Rings and staging buffers to
// which the peer may still write are not used again before MarkDown.
func (t *Transport) GiveUp(peer int, cause error) { t.lose(loss{peer, cause, false}) }

// lose makes a later Poll report a loss (see settle), and rings the rank so that it polls.
func (t *Transport) lose(l loss) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return // the node memory, which contains the doorbell, may be unmapped
	}
	t.losses = append(t.losses, l)
	t.news.Store(true)
	t.bell.Ring()
}

// distrust gives up a peer that has written what a correct peer never writes. Its later messages are discarded at
// once, even if it was reaped.
func (t *Transport) distrust(slot int) {
	t.until[slot] = 0
	t.GiveUp(t.cfg.Peers[slot], transport.ErrDamaged)
}

// lost reports whether a loss of a local rank is known. The loss may not be reported yet.
func (t *Transport) lost(slot int) bool { return t.until[slot] != forever }

// absorb moves new losses from the field losses to the field leaving. settle reports the losses in
// leaving.
func (t *Transport) absorb() {
	t.mu.Lock()
	fresh := t.losses
	t.losses = nil
	t.mu.Unlock()
	for _, l := range fresh {
		slot := t.slot(l.peer)
		if slot < 0 || slot == t.cfg.LocalRank {
			continue
		}
		end := uint64(0) // the position after the last record that is still handed over
		if l.reaped {
			t.reaped[slot] = true
			end = min(atomic.LoadUint64(t.inbox.tail), t.inbox.pos+inboxSlots) // a peer may have damaged the tail
		}
		switch {
		case t.endpoint(slot).down != nil:
			if l.reaped {
				t.freeRings(slot)
			}
		case !slices.ContainsFunc(t.leaving, func(o loss) bool { return o.peer == l.peer }):
			// If records were discarded before the rank was reaped, until is 0, and the later records are
			// discarded, too, so that no message is missing between two others.
			t.until[slot] = min(t.until[slot], end)
			t.leaving = append(t.leaving, l)
		}
	}
	t.forgetNews()
}

// forgetNews clears the field news if no loss remains to be reported.
func (t *Transport) forgetNews() {
	t.mu.Lock()
	t.news.Store(len(t.leaving)+len(t.losses) > 0)
	t.mu.Unlock()
}

// settle reports the losses of peers. The loss of a reaped peer is reported when the last message
// of the peer was handed over. The loss of a peer that may live is reported when the peer does not
// write to the buffers of this rank's shared Gets any more.
func (t *Transport) settle(h transport.Handler) int {
	events := 0
	for i := 0; i < len(t.leaving); {
		l := t.leaving[i]
		slot := t.slot(l.peer)
		if reaped := t.reaped[slot]; reaped && !t.drained(slot) || !reaped && !t.bulk.quiet(t.endpoint(slot)) {
			i++
			continue
		}
		t.leaving = slices.Delete(t.leaving, i, i+1)
		t.reportDown(h, l)
		events++
	}
	t.forgetNews()
	return events
}

// drained reports whether all messages that the peer had sent were handed over. If the inbox is empty, it holds none of
// them, whatever the value of its tail, which peers can write.
func (t *Transport) drained(slot int) bool {
	if r := t.lanes[slot]; r != nil && r.poll() != 0 {
		return false
	}
	_, more := t.inbox.poll()
	return !more || t.inboxDamaged || t.inbox.pos >= t.until[slot]
}

// reportDown frees the rings of the peer if the peer is reaped, completes the operations on the
// peer and reports its loss.
func (t *Transport) reportDown(h transport.Handler, l loss) {
	slot := t.slot(l.peer)
	e := t.endpoint(slot)
	e.down = &transport.PeerDown{Peer: l.peer, Cause: l.cause}
	t.until[slot] = 0 // a damaged tail may lie beyond an empty inbox
	e.ring, e.alerts, e.prepared = ringWriter{}, 0, false
	if r := t.lanes[slot]; r != nil {
		r.gone = true
		t.lanes[slot] = nil
		t.dropGone()
	}
	if t.reaped[slot] {
		t.freeRings(slot)
	}
	t.failBulk(h, e)
	h.Down(e.down)
}

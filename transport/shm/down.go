package shm

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/transport"
)

// loss is the loss of a peer.
type loss struct {
	peer  int
	cause error
	// reaped is true if the peer's process has ended: MarkDown has reported the loss, and the method
	// lives has not shown that the process lives. In this case the messages that the peer has sent are
	// still handed over, and the memory that the peer used is free. If reaped is false, the peer may
	// live, and its messages are discarded.
	reaped bool
	// end is the tail of the inbox when the loss became known, if the peer had been reaped by then and has not
	// violated the protocol. The positions of all its records are less than end. Otherwise end is 0.
	end uint64
}

// MarkDown implements transport.Transport. The engine also calls MarkDown for a peer that lives but
// violates the protocol. If the cause is ErrDamaged, or if the method lives shows that the peer lives, the
// memory to which it may still write is not reused before the peer is reaped. Otherwise the peer counts as
// reaped.
func (t *Transport) MarkDown(peer int, cause error) {
	t.lose(peer, cause, !errors.Is(cause, transport.ErrDamaged)) // damage, not the end of a process
}

// lose makes a later Poll report a loss (see settle), and rings the rank so that it polls.
func (t *Transport) lose(peer int, cause error, reaped bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return // the node memory, which contains the doorbell, may be unmapped
	}
	t.losses = append(t.losses, loss{peer: peer, cause: cause, reaped: reaped})
	t.news.Store(true)
	t.bell.Ring()
}

// distrust ends a peer that has written what a correct peer never writes. Its later messages are discarded, even
// if it was reaped.
func (t *Transport) distrust(slot int) {
	peer := t.cfg.Peers[slot]
	t.dead[slot] = true
	for i := range t.leaving {
		if t.leaving[i].peer == peer {
			t.leaving[i].end = 0
		}
	}
	t.lose(peer, transport.ErrDamaged, false)
}

// draining reports whether records of a dead rank are still handed over. If records were discarded before the rank
// was known to be reaped, the later records are discarded, too, so that no message is missing between two others.
func (t *Transport) draining(slot int) bool {
	return slices.ContainsFunc(t.leaving, func(l loss) bool { return t.inbox.pos < l.end && l.peer == t.cfg.Peers[slot] })
}

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
		e := t.endpoint(slot)
		l.reaped = l.reaped && !e.lives()
		t.reaped[slot] = t.reaped[slot] || l.reaped
		if e.down != nil {
			if l.reaped {
				t.freeRings(slot)
				t.bulk.reap(e)
			}
			continue
		}
		if i := slices.IndexFunc(t.leaving, func(o loss) bool { return o.peer == l.peer }); i >= 0 {
			t.leaving[i].reaped = t.leaving[i].reaped || l.reaped
			continue
		}
		if l.reaped && !t.dead[slot] { // dead: the peer has violated the protocol
			l.end = atomic.LoadUint64(t.inbox.tail)
		}
		t.dead[slot] = true
		t.leaving = append(t.leaving, l)
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
		if l.reaped && !t.drained(l) || !l.reaped && !t.bulk.quiet(t.endpoint(t.slot(l.peer))) {
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

// drained reports whether all messages that the peer had sent were handed over. An empty inbox holds none of them,
// even if the tail, which peers can write, is beyond it.
func (t *Transport) drained(l loss) bool {
	if r := t.lanes[t.slot(l.peer)]; r != nil && r.poll() != 0 {
		return false
	}
	_, more := t.inbox.poll()
	return !more || t.inboxDamaged || t.inbox.pos >= l.end
}

// reportDown frees the rings of the peer if the peer is reaped, completes the operations on the
// peer and reports its loss.
func (t *Transport) reportDown(h transport.Handler, l loss) {
	slot := t.slot(l.peer)
	e := t.endpoint(slot)
	e.down = &transport.PeerDown{Peer: l.peer, Cause: l.cause}
	e.ring, e.alerts, e.prepared = ringWriter{}, 0, false
	if r := t.lanes[slot]; r != nil {
		r.gone = true
		t.lanes[slot] = nil
		t.dropGone()
	}
	if l.reaped {
		t.freeRings(slot)
	}
	t.failBulk(h, e, l.reaped)
	h.Down(e.down)
}

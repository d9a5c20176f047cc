package rdma

import (
	"errors"
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// goodbye sends BYE or BYE-ACK on a link, which is out of use.
func (t *Transport) goodbye(l *link, k frameKind, final bool) {
	if l.gone {
		return
	}
	t.sendControl(l, t.meet(l.peer).flow.Goodbye(), k, final)
}

// end ends a link in order: what was posted is sent first.
func (t *Transport) end(l *link) {
	if l.gone {
		return
	}
	if l.endpoint.Disconnect(verbs.CloseGraceful) != nil {
		t.forget(l)
	}
}

// ended notes that a peer has ended in order: nothing can be sent to it any more.
func (t *Transport) ended(peer int, err error) {
	if p := t.meet(peer); p.end == nil {
		p.cut(fmt.Errorf("%w: %w", transport.ErrClosed, err))
	}
}

// Close implements transport.Transport. It waits until the peers have acknowledged
// what was sent to them, as long as they do (Config.Linger), then tells every peer and
// waits for their answers, but not longer than Config.Goodbye: then there is nothing to
// lose.
func (t *Transport) Close() error { return t.close(true) }

// Abandon is Close without waiting for peers: messages that they have not acknowledged may be
// lost, and they see the loss of their connections.
func (t *Transport) Abandon() error { return t.close(false) }

// close is Close, and Abandon if it is not orderly.
func (t *Transport) close(orderly bool) error {
	if t.closed {
		return t.failure("close", -1, transport.ErrClosed)
	}
	t.closed = true
	for _, l := range t.links {
		if l.purpose != negotiation.Lane || !orderly {
			t.forget(l) // nobody needs to know whether the way works
		}
	}
	t.batches.stop()
	bell := make(chan struct{}, 1)
	ring := func() {
		select {
		case bell <- struct{}{}:
		default:
		}
	}
	t.commands.divert(ring)
	orderly = orderly && t.supervision.supervisor != nil
	if orderly {
		t.settle(ring, bell)
	}
	var err error
	for _, r := range t.polled {
		err = errors.Join(err, r.listener.Close()) // not before: a peer may have to connect again
	}
	if orderly {
		t.supervision.send(ending{})
		t.linger(ring, bell, goodbyeMost, t.parted)
		t.linger(ring, bell, t.config.Goodbye, func() bool { return t.over && len(t.links) == 0 })
	}
	t.commands.end()
	for _, d := range t.leaving {
		d.timer.Stop()
	}
	err = errors.Join(err, t.supervision.stop())
	t.closing.Wait()
	for _, r := range t.polled {
		err = errors.Join(err, r.adapter.Close())
		r.registered.close()
	}
	t.log.Flush(flushMost)
	return err
}

// flushMost is how long Close waits for the log.
const flushMost = time.Second

// goodbyeMost bounds how long the actors may take to say goodbye, which only a busy
// machine delays: Goodbye is for the answers.
const goodbyeMost = 10 * time.Second

// parted reports whether no connection is in use any more: each has ended or was sent
// a goodbye.
func (t *Transport) parted() bool {
	for _, p := range t.peers {
		if p != nil && p.link != nil {
			return false
		}
	}
	return true
}

// linger drops what still comes until done says so. It returns false when that took
// too long.
func (t *Transport) linger(ring func(), bell chan struct{}, most time.Duration, done func() bool) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for !done() {
		if t.round(nil, lingerBudget) > 0 || t.restless() {
			continue
		}
		// What the round has sent again may have been all that done waited for.
		if done() || !t.arm(ring) {
			continue
		}
		select {
		case <-bell:
		case <-timer.C:
			return false
		}
	}
	return true
}

// settle waits until every frame is acknowledged or its peer has ended, connecting
// again where need be. It logs a peer that took nothing in time.
func (t *Transport) settle(ring func(), bell chan struct{}) {
	for {
		before, slow := t.unsettled()
		if before == 0 {
			return
		}
		less := func() bool {
			n, _ := t.unsettled()
			return n < before
		}
		if !t.linger(ring, bell, t.config.Linger, less) {
			t.log.Log(fmt.Sprintf("rdma: at the end rank %d has not taken the last %d messages within %v",
				slow.peer, slow.flow.Unacknowledged(), t.config.Linger))
			return
		}
	}
}

// unsettled counts the frames that are not acknowledged, asks for the acknowledgement,
// and returns one of the peers that owe it.
func (t *Transport) unsettled() (frames int, slow *endpoint) {
	for _, p := range t.peers {
		if p == nil || p.end != nil || p.flow.Unacknowledged() == 0 {
			continue
		}
		frames, slow = frames+p.flow.Unacknowledged(), p
		if l := p.link; l == nil {
			p.want()
		} else if !l.pressed || int16(p.acked-l.marker) > 0 {
			// After the marker there may be an answer to what the peer asked since.
			l.marker = p.acked + uint16(p.flow.Unacknowledged())
			l.pressed = p.sendRecord(recordMarker, transport.Header{}, nil, nil)
		}
	}
	return frames, slow
}

// lingerBudget is the number of messages dropped at a time.
const lingerBudget = 64

package rdma

import (
	"errors"
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// goodbye sends BYE, or its answer BYE-ACK, on a link that is not in use any more.
func (t *Transport) goodbye(l *link, k frameKind, final bool) {
	if l.gone {
		return
	}
	t.sendControl(l, t.meet(l.peer).flow.Goodbye(), k, final)
}

// end ends a link by an orderly disconnect: requests that were posted are completed first.
func (t *Transport) end(l *link) {
	if l.gone {
		return
	}
	if l.endpoint.Disconnect(verbs.CloseGraceful) != nil {
		t.forget(l)
	}
}

// ended records the orderly end of a peer. From now on operations on the peer fail with
// transport.ErrClosed.
func (t *Transport) ended(peer int, err error) {
	if p := t.meet(peer); p.end == nil {
		p.cut(fmt.Errorf("%w: %w", transport.ErrClosed, err))
	}
}

// Close implements transport.Transport. It waits until the peers have acknowledged all frames that were
// sent before Close, and then the frames that were sent in the meantime, such as answers to FetchAdds. It
// stops waiting if no frame was acknowledged for Config.Linger, or if the last adapter has failed. Then
// Close sends BYE on every connection, and waits for the answers for at most Config.Goodbye. If all frames
// are acknowledged and an answer does not arrive, no message is lost.
func (t *Transport) Close() error { return t.close(true) }

// Abandon closes the transport like Close, but does not wait for the peers. Messages that the peers
// have not acknowledged may be lost, and the peers see the loss of their connections.
func (t *Transport) Abandon() error { return t.close(false) }

// close implements Close, and Abandon if orderly is false.
func (t *Transport) close(orderly bool) error {
	if t.closed {
		return t.failure("close", -1, transport.ErrClosed)
	}
	t.closed = true
	// From now on linger waits, for a bell of its own, and no goroutine of the rank calls Doze.
	for _, r := range t.polled {
		r.adapter.Attend(false)
	}
	for _, l := range t.links {
		if l.purpose != negotiation.Lane || !orderly {
			t.forget(l) // of a look or a side connection, or of any kind if Close waits for no peer
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
		err = errors.Join(err, r.listener.Close()) // not before settle, during which a peer may have to connect again
	}
	if orderly {
		t.supervision.send(ending{})
		// Close continues after an error, because no message is lost if an answer to BYE is missing.
		_ = t.linger(ring, bell, goodbyeMost, t.parted)
		_ = t.linger(ring, bell, t.config.Goodbye, func() bool { return t.over && len(t.links) == 0 })
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

// flushMost is the maximum time for which Close waits until the log is written.
const flushMost = time.Second

// goodbyeMost bounds the time in which the actors send BYE on all connections. Only a busy host
// delays the actors. The time for the answers of the peers is Config.Goodbye.
const goodbyeMost = 10 * time.Second

// parted reports whether no connection is in use any more. A connection goes out of use just before BYE is
// sent on it, or when it ends.
func (t *Transport) parted() bool {
	for _, p := range t.peers {
		if p != nil && p.link != nil {
			return false
		}
	}
	return true
}

// linger polls, and drops messages that arrive, until done returns true. linger returns an error if
// done does not return true within the duration in the argument most, or if the last adapter fails.
func (t *Transport) linger(ring func(), bell chan struct{}, most time.Duration, done func() bool) error {
	end := time.Now().Add(most)
	timer := time.NewTimer(most)
	defer timer.Stop()
	for late := false; !done(); {
		if late {
			return fmt.Errorf("no answer within %v", most)
		}
		late = !time.Now().Before(end) // a last round takes what has arrived in time
		busy := t.round(nil, lingerBudget) > 0
		if err := t.removeFailed(); err != nil && !busy {
			return err // nothing can arrive any more
		}
		if busy || late || t.restless() {
			continue
		}
		// The round may have retransmitted the last frames. Only then can done ask for their
		// acknowledgement, so done is called again.
		if done() || !t.arm(ring) {
			continue
		}
		select {
		case <-bell:
		case <-timer.C:
		}
	}
	return nil
}

// settle waits until each frame that was sent so far is acknowledged or its receiver has ended. Then
// it waits in the same way for the frames by which this rank has answered requests of peers during the
// first wait. There is no third wait, so that a peer that repeats its requests cannot keep the rank from
// ending. For peers without a connection settle asks for new connections. If no frame is acknowledged
// within Config.Linger, or if the last adapter fails, settle logs one of the peers that owe an
// acknowledgement, and returns.
func (t *Transport) settle(ring func(), bell chan struct{}) {
	for range 2 {
		for _, p := range t.peers {
			if p != nil {
				p.last = p.acked + uint16(p.flow.Unacknowledged())
			}
		}
		for before, slow := t.unsettled(); before > 0; before, slow = t.unsettled() {
			less := func() bool {
				n, _ := t.unsettled()
				return n < before
			}
			if err := t.linger(ring, bell, t.config.Linger, less); err != nil {
				t.log.Log(fmt.Sprintf("rdma: close: rank %d has not acknowledged the last %d frames, whose messages may be lost: %v",
					slow.peer, slow.flow.Unacknowledged(), err))
				return
			}
		}
	}
}

// unsettled returns the number of frames before endpoint.last that are not acknowledged, and one of the
// peers that owe an acknowledgement. unsettled sends these peers a recordMarker, which a peer acknowledges at
// once.
func (t *Transport) unsettled() (frames int, slow *endpoint) {
	for _, p := range t.peers {
		if p == nil || p.end != nil {
			continue
		}
		left := int16(p.last - p.acked)
		if left <= 0 {
			p.last = p.acked // so that the difference stays small while other frames are acknowledged
			continue
		}
		frames, slow = frames+int(left), p
		if l := p.link; l == nil {
			p.want()
		} else if !l.pressed || int16(p.acked-l.marker) > 0 {
			// Either no marker was sent on this link, or all frames up to the marker are
			// acknowledged. In the second case, this rank has sent a further frame that answers a
			// request of the peer.
			l.marker = p.acked + uint16(p.flow.Unacknowledged())
			l.pressed = p.sendRecord(recordMarker, transport.Header{}, nil, nil)
		}
	}
	return frames, slow
}

// lingerBudget is the maximum number of messages that linger drops in one call of round.
const lingerBudget = 64

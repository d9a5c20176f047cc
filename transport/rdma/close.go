package rdma

import (
	"errors"
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// farewell sends BYE or BYE-ACK on a link, which is out of use.
func (t *Transport) farewell(l *link, k frameKind, final bool) {
	if l.gone {
		return
	}
	t.sendControl(l, t.meet(l.peer).flow.Farewell(), k, final)
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

// Close implements transport.Transport. It tells every peer and waits for their
// answers, but not longer than Config.Farewell.
func (t *Transport) Close() error {
	if t.closed {
		return t.failure("close", -1, transport.ErrClosed)
	}
	t.closed = true
	err := t.listener.Close()
	if t.stage.system != nil {
		t.linger()
	}
	t.commands.end()
	for _, d := range t.leaving {
		d.timer.Stop()
	}
	if t.corked.timer != nil {
		t.corked.timer.Stop()
	}
	return errors.Join(err, t.stage.strike(), t.adapter.Close())
}

// linger says goodbye, and drops what still comes.
func (t *Transport) linger() {
	bell := make(chan struct{}, 1)
	ring := func() {
		select {
		case bell <- struct{}{}:
		default:
		}
	}
	t.commands.divert(ring)
	t.stage.send(ending{})
	timer := time.NewTimer(t.config.Farewell)
	defer timer.Stop()
	for !t.over || len(t.links) > 0 {
		if t.round(nil, lingerBudget) > 0 || t.restless() || !t.queue.Arm(ring) {
			continue
		}
		select {
		case <-bell:
		case <-timer.C:
			return
		}
	}
}

// lingerBudget is the number of messages dropped at a time.
const lingerBudget = 64

package rdma

import (
	"errors"
	"slices"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// pollBatch is the number of completions taken from the queue at a time.
const pollBatch = 16

var errReentered = errors.New("poll from within a handler")

// Poll implements transport.Transport.
func (t *Transport) Poll(h transport.Handler, budget int) (int, error) {
	switch {
	case t.closed:
		return 0, t.failure("poll", -1, transport.ErrClosed)
	case t.reading:
		return 0, t.failure("poll", -1, errReentered)
	case t.pace.skips() && t.idle():
		return 0, nil
	}
	t.reading = true
	events := t.round(h, max(budget, 1))
	t.reading = false
	if err := t.queue.Err(); err != nil {
		return events, t.failure("poll", -1, err)
	}
	return events, nil
}

// round is one Poll. A nil handler drops what arrives.
func (t *Transport) round(h transport.Handler, budget int) int {
	t.begin()
	t.release()
	t.supervision.yield()
	events := t.obey()
	left := budget
	if len(t.stash)+len(t.ends) > 0 {
		events += t.unstash(h, &left)
		events += t.endLinks()
	}
	if left > 0 {
		events += t.look(h, &left, events > 0)
	}
	if len(t.leaving) > 0 {
		events += t.dismiss(h, &left)
	}
	if len(t.busy) > 0 {
		t.service()
	}
	if len(t.finished)+len(t.downs) > 0 {
		events += t.handOver(h)
	}
	t.begin()
	return events
}

// idle reports whether a Poll has nothing to do but to look at the adapter.
func (t *Transport) idle() bool {
	return !t.commands.news.Load() && !t.batches.held && t.supervision.turns == 0 &&
		len(t.stash)+len(t.ends)+len(t.leaving)+len(t.busy)+len(t.finished)+len(t.downs) == 0
}

// look calls completions: at every Poll or, beside shared memory, as often as the pace
// allows, and at once if moves says that this Poll had other work.
func (t *Transport) look(h transport.Handler, left *int, moves bool) int {
	if !t.pace.companion {
		events, _ := t.completions(h, left)
		return events
	}
	began := t.pace.now()
	if !t.pace.due(began) && !moves {
		return 0
	}
	events, steps := t.completions(h, left)
	t.pace.note(events+steps, began, t.pace.now())
	return events
}

// completions takes what the adapter has, until a batch was not full or the budget
// is spent. It returns their number, and how much other work the adapter did, such as parts
// of long messages, which are no completions yet.
func (t *Transport) completions(h transport.Handler, left *int) (events, steps int) {
	for *left > 0 {
		most := min(*left, pollBatch)
		n, did := t.queue.Advance(t.batch[:most])
		for i := range t.batch[:n] {
			t.completed(h, &t.batch[i], left)
		}
		events += n
		steps += did
		if n < most {
			break
		}
	}
	return events, steps
}

// completed deals with one entry of the queue.
func (t *Transport) completed(h transport.Handler, c *verbs.Completion, left *int) {
	switch c.Stream {
	case verbs.StreamReceive:
		l := t.link(c.Endpoint)
		if c.Status != verbs.StatusSuccess || l == nil {
			t.recycle(uint32(c.ID))
			return
		}
		a := arrived{l, uint32(c.ID), c.Length}
		if len(t.stash) == 0 && t.single(h, &a, left) {
			break
		}
		d := delivery{arrived: a}
		if len(t.stash) > 0 || !t.deliver(h, &d, left) {
			t.stash = append(t.stash, d)
		}
	case verbs.StreamRequest:
		if l := t.link(c.Endpoint); l != nil && c.Status == verbs.StatusSuccess {
			t.requestDone(l, c)
		}
	case verbs.StreamConnection:
		if l := t.link(c.Endpoint); l != nil {
			t.connection(l, c.Event)
		}
		c.Event = nil
	case verbs.StreamConnectionRequest:
		t.supervision.send(requested{c.Event.Request})
		c.Event = nil
	default:
	}
	c.Endpoint = nil
}

// link returns the link of an endpoint, nil when it was freed.
func (t *Transport) link(ep *verbs.Endpoint) *link {
	if l := t.lastLink; l != nil && l.endpoint == ep {
		return l
	}
	l := t.links[ep]
	t.lastLink = l
	return l
}

// recycle posts a receive again.
func (t *Transport) recycle(slot uint32) {
	if err := t.receives.recycle(slot); err != nil {
		// The slot is among those that were posted, so only a dead adapter refuses it,
		// which the queue's error says.
		t.receives.active--
	}
}

// requestDone takes the completion of a Send, Read or Write.
func (t *Transport) requestDone(l *link, c *verbs.Completion) {
	kind, n := parseID(c.ID)
	p := t.peers[l.peer]
	switch {
	case kind == idSend:
		l.done = n
		if p != nil && p.link == l && p.flow.Queued() > 0 {
			p.list()
		}
	case p != nil && p.link == l:
		p.bulk.moved(p, kind, n, c.Status)
	}
}

// service goes on with the endpoints that have something left to do.
func (t *Transport) service() {
	list := t.busy
	t.busy = nil
	for _, p := range list {
		p.listed = false
	}
	for _, p := range list {
		if p.service() {
			p.list()
		}
	}
	if t.busy == nil {
		t.busy = list[:0]
	}
}

// handOver reports the operations that have ended, then the peers that are lost.
func (t *Transport) handOver(h transport.Handler) int {
	events := 0
	for len(t.finished) > 0 {
		list := t.finished
		t.finished = nil
		events += len(list)
		for i := range list {
			if h != nil {
				h.Completed(list[i].peer, list[i].token, list[i].value, list[i].err)
			}
		}
		if t.finished == nil {
			clear(list)
			t.finished = list[:0]
			break
		}
	}
	for _, d := range t.downs {
		events++
		if h != nil {
			h.Down(d)
		}
	}
	t.downs = nil
	return events
}

// connection takes an event of a link.
func (t *Transport) connection(l *link, e *verbs.Event) {
	switch e.Type {
	case verbs.EventEstablished:
		if l.conn.Active {
			t.supervision.send(answered{l, e.PrivateData})
		}
	case verbs.EventPeerRejected:
		t.forget(l)
		t.supervision.send(rejected{l, e.PrivateData, eventError(e)})
	default:
		if t.adopt(l) || slices.ContainsFunc(t.stash, func(s delivery) bool { return s.link == l }) {
			t.ends = append(t.ends, linkEnd{l, contactOf(e), eventError(e)})
			return
		}
		t.forget(l)
		t.tell(l.peer, peering.Event{Kind: peering.Lost, Conn: l.conn, Contact: contactOf(e), Err: eventError(e)})
	}
}

// contactOf returns the stage that an attempt had reached when the event ended it.
func contactOf(e *verbs.Event) peering.Contact {
	switch e.Type {
	case verbs.EventUnreachable:
		return peering.Unreached
	case verbs.EventTimedOut:
		return peering.Unanswered
	default:
		return peering.Answered
	}
}

// eventError makes an error of an event that ends a connection.
func eventError(e *verbs.Event) error { return &endError{e.Remote, e.Type, e.Err} }

// Arm implements transport.Transport.
func (t *Transport) Arm() bool {
	if t.closed || t.restless() {
		return false
	}
	if t.release(); len(t.busy) > 0 {
		t.service()
	}
	t.begin()
	t.adapter.Progress() // what has arrived may not be queued yet
	t.batches.armed = t.queue.Arm(t.ring) && !t.commands.news.Load()
	return t.batches.armed
}

// restless reports whether Poll has something to do.
func (t *Transport) restless() bool {
	return t.commands.news.Load() || len(t.ends)+len(t.stash)+len(t.finished)+len(t.downs) > 0 ||
		slices.ContainsFunc(t.leaving, func(d *departure) bool { return d.late })
}

// Disarm implements transport.Transport.
func (t *Transport) Disarm() {
	t.batches.armed = false
	if !t.closed {
		t.queue.Disarm()
	}
}

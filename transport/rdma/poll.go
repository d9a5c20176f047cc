package rdma

import (
	"errors"
	"slices"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// pollBatch is the maximum number of completions that are polled from the queue at a time.
const pollBatch = 16

var errReentered = errors.New("poll from within a handler")

// Poll implements transport.Transport.
func (t *Transport) Poll(h transport.Handler, budget int) (int, error) {
	switch {
	case t.closed:
		return 0, t.failure("poll", -1, transport.ErrClosed)
	case t.reading:
		return 0, t.failure("poll", -1, errReentered)
	case t.skips() && t.idle():
		return 0, nil
	}
	t.reading = true
	events := t.round(h, max(budget, 1))
	t.reading = false
	if err := t.removeFailed(); err != nil {
		return events, t.failure("poll", -1, err)
	}
	return events, nil
}

// round performs a Poll. If the handler is nil, messages that arrive are dropped, and ends of operations and
// losses of peers are not reported.
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

// idle reports whether a Poll has nothing to do except to look at the adapters.
func (t *Transport) idle() bool {
	return !t.commands.news.Load() && !t.batches.held && t.supervision.turns == 0 &&
		len(t.stash)+len(t.ends)+len(t.leaving)+len(t.busy)+len(t.finished)+len(t.downs) == 0
}

// skips counts a Poll in the pace of each rail, and reports whether all rails are skipped.
func (t *Transport) skips() bool {
	all := true
	for _, r := range t.polled {
		r.skipped = r.pace.skips()
		all = all && r.skipped
	}
	return all
}

// look polls the completion queues of the rails, as their pace allows. In this file a look is such
// a poll. moves reports whether this Poll had other work. The method returns the number of
// completions, plus the number of steps of transfers (see completions).
func (t *Transport) look(h transport.Handler, left *int, moves bool) int {
	if len(t.polled) == 1 {
		return t.polled[0].look(h, left, moves)
	}
	first := t.nextFirst()
	events := lookAt(t.polled[first:], h, left, moves)
	return events + lookAt(t.polled[:first], h, left, moves)
}

// turnEvery is the number of looks of which one begins with a later rail. If all looks began with the first
// rail, a first rail that always has more completions than the budget would starve the other rails.
const turnEvery = 8

// nextFirst returns the index in polled of the rail with which this look begins.
func (t *Transport) nextFirst() int {
	t.looks++
	if t.looks%turnEvery != 0 {
		return 0
	}
	return 1 + int(t.looks/turnEvery)%(len(t.polled)-1)
}

func lookAt(rails []*rail, h transport.Handler, left *int, moves bool) int {
	events := 0
	for _, r := range rails {
		if *left > 0 {
			events += r.look(h, left, moves)
		}
	}
	return events
}

// look calls completions at every Poll if the rail has no pace, and otherwise as often as the pace
// allows. The first rail has a pace only with Config.Companion. All later rails have a pace. If
// moves is true, because this Poll had other work, look calls completions in every case.
func (r *rail) look(h transport.Handler, left *int, moves bool) int {
	if !r.pace.companion {
		events, steps := r.completions(h, left)
		return events + steps
	}
	skipped := r.skipped
	r.skipped = false // skipped is valid only for this Poll
	if skipped && !moves {
		return 0
	}
	began := r.t.now()
	if !r.pace.due(began) && !moves {
		return 0
	}
	events, steps := r.completions(h, left)
	r.pace.note(events+steps, began, r.t.now())
	return events + steps
}

// completions handles the completions of the rail's queue in batches. It returns when a batch is
// not full or the budget is spent. events is the number of completions. steps is the amount of
// other work that the adapter did, such as the transfer of parts of long messages that are not
// complete yet.
func (r *rail) completions(h transport.Handler, left *int) (events, steps int) {
	t := r.t
	for *left > 0 {
		most := min(*left, pollBatch)
		n, did := r.queue.Advance(t.batch[:most])
		for i := range t.batch[:n] {
			r.completed(h, &t.batch[i], left)
		}
		events += n
		steps += did
		if n < most {
			break
		}
	}
	return events, steps
}

// completed handles one completion.
func (r *rail) completed(h transport.Handler, c *verbs.Completion, left *int) {
	t := r.t
	switch c.Stream {
	case verbs.StreamReceive:
		l := t.link(c.Endpoint)
		if c.Status != verbs.StatusSuccess || l == nil {
			r.recycle(uint32(c.ID))
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
		t.knocked(r, c.Event.Request)
		c.Event = nil
	case verbs.StreamAdapter:
		r.happened(c.Event)
		c.Event = nil
	default:
	}
	c.Endpoint = nil
}

// link returns the link of an endpoint, or nil if the link was freed.
func (t *Transport) link(ep *verbs.Endpoint) *link {
	if l := t.lastLink; l != nil && l.endpoint == ep {
		return l
	}
	l := t.links[ep]
	t.lastLink = l
	return l
}

// requestDone handles the completion of a Send, Read or Write.
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
	case p != nil && p.side.link == l:
		p.side.moved(p, kind, n, c.Status)
	}
}

// service calls endpoint.service for the endpoints in busy.
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

// handOver reports to the handler first the operations that have ended, and then the peers that are
// lost.
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

// connection handles a connection event of a link.
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
		l.cause = eventError(e)
		if t.adopt(l) || slices.ContainsFunc(t.stash, func(s delivery) bool { return s.link == l }) {
			t.ends = append(t.ends, linkEnd{l, contactOf(e), eventError(e)})
			return
		}
		t.forget(l)
		t.lost(l, contactOf(e), eventError(e))
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

// eventError returns the error of an event that ends a connection.
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
	t.batches.armed = t.arm(t.ring) // a command that is added from now on rings the Sleeper
	return t.batches.armed
}

// restless reports whether there is work that only Poll does, such as commands to execute or messages to
// deliver. Frames that wait to be posted do not count.
func (t *Transport) restless() bool {
	return t.commands.news.Load() || len(t.ends)+len(t.stash)+len(t.finished)+len(t.downs) > 0 ||
		slices.ContainsFunc(t.leaving, func(d *departure) bool { return d.late })
}

// Disarm implements transport.Transport.
func (t *Transport) Disarm() {
	t.batches.armed = false
	if !t.closed {
		for _, r := range t.polled {
			r.queue.Disarm()
		}
	}
}

package rdma

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/credit"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// pollBatch is the number of completions taken from the queue at a time.
const pollBatch = 16

var errReentered = errors.New("poll from within a handler")

// delivery is a message that is being handed over, record by record.
type delivery struct {
	arrived
	// at is the next record, 0 before the frame was looked at.
	at int
}

// stashed makes deliveries of messages that came before their link was in use.
func stashed(held []arrived) []delivery {
	list := make([]delivery, len(held))
	for i, a := range held {
		list[i].arrived = a
	}
	return list
}

// Poll implements transport.Transport.
func (t *Transport) Poll(h transport.Handler, budget int) (int, error) {
	switch {
	case t.closed:
		return 0, t.failure("poll", -1, transport.ErrClosed)
	case t.reading:
		return 0, t.failure("poll", -1, errReentered)
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
	events := t.obey()
	left := budget
	events += t.unstash(h, &left)
	if left > 0 && t.pace.due(events) {
		n := t.completions(h, &left)
		t.pace.note(n)
		events += n
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
	return events
}

// completions takes what the adapter has, until a batch was not full or the budget
// is spent.
func (t *Transport) completions(h transport.Handler, left *int) int {
	events := 0
	for *left > 0 {
		most := min(*left, pollBatch)
		n := t.queue.Poll(t.batch[:most])
		for i := range t.batch[:n] {
			t.completed(h, &t.batch[i], left)
		}
		events += n
		if n < most {
			break
		}
	}
	return events
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
		d := delivery{arrived: arrived{l, uint32(c.ID), c.Length}}
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
		t.stage.send(requested{c.Event.Request})
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

// unstash goes on with messages that were not handed over.
func (t *Transport) unstash(h transport.Handler, left *int) int {
	n := 0
	for n < len(t.stash) && *left > 0 && t.deliver(h, &t.stash[n], left) {
		n++
	}
	if n > 0 {
		t.stash = append(t.stash[:0], t.stash[n:]...)
	}
	return n
}

// deliver hands over a message as far as the budget goes, and returns whether that
// was all of it. Its receive is posted again then.
func (t *Transport) deliver(h transport.Handler, d *delivery, left *int) bool {
	l := d.link
	b := t.receives.bytes(d.slot, d.length)
	p := t.meet(l.peer)
	if d.at == 0 {
		if l.gone {
			t.recycle(d.slot)
			return true
		}
		if !l.used {
			t.hold(l, d.arrived)
			return true
		}
		if !t.admit(p, d, b) {
			return true
		}
	}
	for d.at < len(b) && p.end == nil {
		r, n, err := parseRecord(b[d.at:])
		if err == nil && r.kind == recordMessage {
			if *left == 0 {
				return false
			}
			*left--
			d.at += n
			if h != nil {
				h.Arrive(l.peer, r.header, r.payload)
			}
			continue
		}
		if err == nil {
			err = p.serve(&r)
		}
		if err != nil {
			t.damaged(l, err)
			break
		}
		d.at += n
	}
	t.recycle(d.slot)
	if p.link == l {
		p.flow.Return(1)
		p.arrived()
	}
	return true
}

// hold keeps a message of an accepted connection that is not in use yet. The first
// one tells the actor that the active side believes in the connection.
func (t *Transport) hold(l *link, a arrived) {
	l.held = append(l.held, a)
	if !l.heard && !l.conn.Active {
		l.heard = true
		t.tell(l.peer, peering.Event{Kind: peering.Heard, Conn: l.conn})
	}
}

// admit looks at a frame. It returns false when that was all: the frame is none to
// hand over, and its receive was posted again.
func (t *Transport) admit(p *endpoint, d *delivery, b []byte) bool {
	l := d.link
	f, err := parseHead(b)
	if err == nil && f.kind == frameEager && p.link == l {
		var verdict credit.Verdict
		var freed int
		verdict, freed, err = p.flow.Arrive(f.word)
		p.heard(freed)
		if err == nil && verdict == credit.Deliver {
			p.activity++
			d.at = headBytes
			return true
		}
		if err == nil {
			t.recycle(d.slot)
			p.flow.Return(1)
			p.arrived()
			return false
		}
	}
	t.recycle(d.slot)
	if err == nil && f.kind != frameEager {
		err = t.control(p, l, f)
	}
	if err != nil {
		t.damaged(l, err)
	}
	return false
}

// control takes a control frame, whose receive was posted again. One of a link that
// was retired in order still counts.
func (t *Transport) control(p *endpoint, l *link, f head) error {
	if p.link == l {
		freed, err := 0, error(nil)
		if f.kind == frameUpdate {
			freed, err = p.flow.ArriveUpdate(f.word)
		} else {
			freed, err = p.flow.ArriveFarewell(f.word)
		}
		if err != nil {
			return err
		}
		p.heard(freed)
		p.list()
	}
	switch f.kind {
	case frameBye:
		t.tell(l.peer, peering.Event{Kind: peering.Bye, Conn: l.conn, Final: f.final})
	case frameByeAck:
		t.tell(l.peer, peering.Event{Kind: peering.ByeAck, Conn: l.conn})
	default:
	}
	return nil
}

// arrived goes on after an eager frame: a peer that uses its window up gets a larger
// one while there is memory, and enough that came is acknowledged.
func (p *endpoint) arrived() {
	if p.flow.Starved() && p.flow.Window() < windowMax {
		p.widen()
	}
	if p.prompt || p.flow.Queued() > 0 || p.flow.Due() {
		p.list()
	}
}

// widen grants the peer more receives.
func (p *endpoint) widen() {
	t, l := p.t, p.link
	more := t.pool.Widen(min(l.window, windowMax-l.window))
	if more == 0 {
		return
	}
	l.window += more
	if err := t.receives.need(t.granted()); err != nil {
		return // they are accounted for and come back with the link
	}
	p.flow.Widen(more)
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
			t.stage.send(answered{l, e.PrivateData})
		}
	case verbs.EventPeerRejected:
		t.forget(l)
		t.stage.send(rejected{l, e.PrivateData, eventError(e)})
	default:
		t.forget(l)
		t.tell(l.peer, peering.Event{Kind: peering.Lost, Conn: l.conn, Err: eventError(e)})
	}
}

// eventError makes an error of an event that ends a connection.
func eventError(e *verbs.Event) error {
	if e.Err == nil {
		return fmt.Errorf("connection %v: %v", e.Remote, e.Type)
	}
	return fmt.Errorf("connection %v: %v: %w", e.Remote, e.Type, e.Err)
}

// damaged gives up a peer that sent what no correct peer sends.
func (t *Transport) damaged(l *link, err error) {
	if errors.Is(err, credit.ErrViolation) {
		err = fmt.Errorf("%w: %w", transport.ErrDamaged, err)
	}
	t.lose(l.peer, err)
}

// departure is a peer that was marked down: a process that is gone, whose last
// messages may have arrived.
type departure struct {
	peer  int
	cause error
	// polls is how often its messages were looked for.
	polls int
}

// departurePolls bounds that, for a peer that is not gone at all and goes on sending.
const departurePolls = 64

// depart begins to give up a peer that was marked down.
func (t *Transport) depart(peer int, cause error) {
	if p := t.peers[peer]; p == nil || p.link == nil {
		t.lose(peer, cause)
		return
	}
	t.leaving = append(t.leaving, departure{peer: peer, cause: cause})
}

// dismiss reads what has arrived, and gives up the peers that were marked down when
// that was all.
func (t *Transport) dismiss(h transport.Handler, left *int) int {
	events := 0
	for n := 1; n > 0 && *left > 0; events += n {
		n = t.completions(h, left)
	}
	kept := t.leaving[:0]
	for _, d := range t.leaving {
		d.polls++
		if p := t.peers[d.peer]; *left > 0 || p.link == nil || d.polls > departurePolls {
			t.lose(d.peer, d.cause)
			events++
			continue
		}
		kept = append(kept, d)
	}
	t.leaving = kept
	return events
}

// lose gives up a peer. Its loss is reported after its operations.
func (t *Transport) lose(peer int, cause error) {
	p := t.meet(peer)
	if p.end != nil && errors.Is(p.end, transport.ErrPeerDown) {
		return
	}
	down := &transport.PeerDown{Peer: peer, Cause: cause}
	p.cut(down)
	t.downs = append(t.downs, down)
	t.tell(peer, peering.Event{Kind: peering.Gone, Err: cause})
}

// Arm implements transport.Transport.
func (t *Transport) Arm() bool {
	if t.closed || t.restless() {
		return false
	}
	t.adapter.Progress() // what has arrived may not be queued yet
	return t.queue.Arm(t.ring) && !t.commands.news.Load()
}

// restless reports whether Poll has something to do.
func (t *Transport) restless() bool {
	return t.commands.news.Load() || len(t.stash)+len(t.leaving)+len(t.finished)+len(t.downs) > 0
}

// Disarm implements transport.Transport.
func (t *Transport) Disarm() {
	if !t.closed {
		t.queue.Disarm()
	}
}

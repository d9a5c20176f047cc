package rdma

import (
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/credit"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// delivery is an arrived frame of which not all records have been handled yet.
type delivery struct {
	arrived
	// at is the offset of the next record in the frame. It is 0 until the head of the frame was
	// read.
	at int
}

// unstash continues with the frames of the stash, oldest first, and returns the number of frames
// that are completely delivered.
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

// deliver delivers the messages of a frame to the handler as far as the budget in its last argument
// allows. It returns true when the frame is finished. The receive of a finished frame was posted
// again, or will be posted by the method release, or is kept by the method hold.
func (t *Transport) deliver(h transport.Handler, d *delivery, left *int) bool {
	l := d.link
	b := l.rail.receives.bytes(d.slot, d.length)
	p := t.meet(l.peer)
	if d.at == 0 {
		if l.gone {
			l.rail.recycle(d.slot)
			return true
		}
		if l.purpose != negotiation.Lane {
			t.aside(p, d, b)
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
	t.release()
	t.used = d.arrived
	return true
}

// single delivers a frame of one message, which is the usual case. If the frame has other contents, or
// cannot be delivered now (for example because its link is not in use or the budget is spent), single
// does nothing and returns false.
func (t *Transport) single(h transport.Handler, a *arrived, left *int) bool {
	p := t.peers[a.link.peer]
	if p == nil || p.link != a.link || p.end != nil || h == nil || *left == 0 || a.length < headBytes+recordBytes {
		return false
	}
	b := a.link.rail.receives.bytes(a.slot, a.length)
	w, header, payload, ok := parseSingle(b)
	if !ok {
		return false
	}
	freed, ok := p.flow.Accept(w)
	if !ok {
		return false
	}
	if freed > 0 {
		p.acknowledged(freed)
	}
	p.activity++
	p.batch.answered = true
	*left--
	h.Arrive(a.link.peer, header, payload)
	t.release()
	t.used = *a
	return true
}

// release posts the receive of the message that was delivered last. release is called only when the
// next message is delivered, or by the next Poll or Arm. So the program's answer to the message is
// sent before the receive is posted.
func (t *Transport) release() {
	if t.used.link != nil {
		t.returnUsed()
	}
}

// returnUsed implements release if there is a receive to post.
func (t *Transport) returnUsed() {
	l := t.used.link
	t.used.link = nil
	l.rail.recycle(t.used.slot)
	if p := t.peers[l.peer]; p.link == l {
		p.flow.Return(1)
		p.arrived()
	}
}

// hold keeps a message of an accepted connection that is not in use yet. The first message has to
// prove that the request was not a replay. If the proof is valid, hold tells the actor that the
// active side uses the connection.
func (t *Transport) hold(l *link, a arrived) {
	if !l.active && !l.conn.Active {
		b := l.rail.receives.bytes(a.slot, a.length)
		if !t.proved(l, b) {
			l.rail.recycle(a.slot)
			return
		}
		t.tell(l.peer, peering.Event{Kind: peering.FirstMessage, Conn: l.conn})
	}
	l.held = append(l.held, a)
}

// unhold moves the messages that hold has kept for a link to the front of the stash. If the budget of a Poll was spent,
// the stash may have later messages of the link already.
func (t *Transport) unhold(l *link) {
	held := make([]delivery, len(l.held))
	for i, a := range l.held {
		held[i].arrived = a
	}
	t.stash, l.held = slices.Insert(t.stash, 0, held...), nil
}

// proved checks the proof in the first message of an accepted connection. If the proof is not
// valid, proved ends the connection and returns false.
func (t *Transport) proved(l *link, b []byte) bool {
	if err := t.credentials.OpenProof(b, l.asked, l.replied); err != nil {
		t.strangers.count(t, l.remote, err)
		l.failed(t, err)
		return false
	}
	l.active = true
	l.endpoint.Trust()
	return true
}

// admit reads the head of a frame. It returns true if the frame has records to deliver. Otherwise
// it has handled the frame completely, and posted its receive again.
func (t *Transport) admit(p *endpoint, d *delivery, b []byte) bool {
	l := d.link
	f, err := parseHead(b)
	if err == nil && f.kind == frameEager && p.link == l {
		var verdict credit.Verdict
		var freed int
		verdict, freed, err = p.flow.Arrive(f.word)
		p.acknowledged(freed)
		if err == nil && verdict == credit.Deliver {
			p.activity++
			p.batch.answered = true
			d.at = headBytes
			return true
		}
		if err == nil {
			l.rail.recycle(d.slot)
			p.flow.Return(1)
			p.arrived()
			return false
		}
	}
	l.rail.recycle(d.slot)
	if err == nil && f.kind != frameEager {
		err = t.control(p, l, f)
	}
	if err != nil {
		t.damaged(l, err)
	}
	return false
}

// control handles a control frame. The caller has already posted the receive of the frame again. A
// BYE or BYE-ACK is passed to the actor even if the link is not in use any more.
func (t *Transport) control(p *endpoint, l *link, f head) error {
	if f.kind == frameMark {
		return fmt.Errorf("%w: a mark on a connection that is not a side connection", transport.ErrDamaged)
	}
	if f.kind == frameProof {
		if l.conn.Active || l.greeted {
			return fmt.Errorf("%w: an unexpected proof", transport.ErrDamaged)
		}
		l.greeted = true
	}
	if p.link == l {
		freed, err := 0, error(nil)
		if f.kind == frameUpdate || f.kind == frameProof {
			freed, err = p.flow.ArriveUpdate(f.word)
		} else {
			freed, err = p.flow.ArriveGoodbye(f.word)
		}
		if err != nil {
			return err
		}
		p.acknowledged(freed)
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

// arrived is called after the receive of an eager frame was posted again. If the peer uses up its
// window, arrived grants a larger window, as far as there is memory. If an update is due or frames are queued,
// arrived adds the endpoint to the endpoints that Poll services.
func (p *endpoint) arrived() {
	if p.flow.Starved() && p.flow.Window() < p.t.measure.slots {
		p.widen()
	}
	if p.prompt || p.flow.Queued() > 0 || p.flow.Due() {
		p.list()
	}
}

// widen grants the peer more receives.
func (p *endpoint) widen() {
	l := p.link
	r := l.rail
	more := r.pool.Widen(min(l.window, p.t.measure.slots-l.window))
	if more == 0 {
		return
	}
	l.window += more
	if err := r.receives.need(r.granted()); err != nil {
		return // the receives stay counted in the pool until the link is freed
	}
	p.flow.Widen(more)
}

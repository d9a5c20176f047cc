package rdma

import (
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/credit"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// sent is an eager frame that is not acknowledged.
type sent struct {
	buffer
	length int
	// put is the Put that ends when the frame is acknowledged, or nil.
	put *operation
}

// endpoint is the way to one peer: the lane and the operations, which outlive the
// connections that carry them.
type endpoint struct {
	t    *Transport
	peer int
	// link is the connection in use, or nil.
	link *link
	// rail is that of the last connection, or the first one, and sends its memory, in which
	// the frames of slots lie.
	rail  *rail
	sends *sendMemory
	flow  *credit.Flow
	// slots are the frames that are not acknowledged; acked is the sequence number of
	// the oldest.
	slots []sent
	acked uint16
	// maxEager is the longest payload, depth the ORD: as wished until a connection
	// stands, then as negotiated, in terms.
	maxEager, depth int
	terms           negotiation.Terms
	route           string
	connects        int

	// wanted says that the actor was told that a connection is needed, silent since when
	// the peer has not answered, if that is long and it is waited for all the same.
	wanted bool
	silent time.Time
	// search says how the actor's attempts to connect go, in words; "" if there are none.
	search string
	// trials is what became of attempts on other rails, by their numbers.
	trials map[uint8]string
	// prompt says that the peer waits for an acknowledgement.
	prompt bool
	// listed says that the endpoint is in Transport.busy.
	listed  bool
	leaving leaving
	// idle says that the connection that is left is not needed, and none is to follow.
	idle bool
	// end is why nothing can be sent any more: *transport.PeerDown or ErrClosed.
	end error

	bulk  bulk
	side  side
	batch batch
	// activity counts frames, and quiet is what it was when the actor asked last.
	activity, quiet uint64
}

var _ transport.Endpoint = (*endpoint)(nil)

func newEndpoint(t *Transport, peer int) *endpoint {
	r := t.rails[0]
	return &endpoint{
		t: t, peer: peer, rail: r, sends: r.sends, flow: credit.New(t.measure.slots), slots: make([]sent, t.measure.slots),
		maxEager: eagerMax(t.slot), depth: r.policy.Limits.Offer().ORD, bulk: newBulk(), side: newSide(t),
	}
}

// eagerMax is the longest payload of a message in a receive.
func eagerMax(slot int) int { return (slot - headBytes - recordBytes) &^ 7 }

// Caps implements transport.Endpoint.
func (p *endpoint) Caps() transport.Caps {
	return transport.Caps{
		MaxEager: p.maxEager, EagerBest: min(p.maxEager, eagerMax(burstSlot)), EagerAlone: p.maxEager, CostlySend: true,
		Get: p.depth > 0, Put: true, FetchAdd: true, MaxReads: p.depth,
	}
}

var _ transport.Quieter = (*endpoint)(nil)

// quietFrames is up to how many frames without an acknowledgement a connection is quiet: the peer's next
// frame acknowledges the last ones, so that there are one or two in a dialogue or a barrier.
const quietFrames = 3

// Quiet implements transport.Quieter.
func (p *endpoint) Quiet() bool { return p.flow.Unacknowledged() <= quietFrames }

// Map implements transport.Endpoint: memory of other nodes is not mapped.
func (p *endpoint) Map(transport.Key, int) ([]byte, error) {
	return nil, p.failure("map", transport.ErrNotSupported)
}

func (p *endpoint) failure(op string, err error) error { return p.t.failure(op, p.peer, err) }

// Send implements transport.Endpoint. When what it accepts is on its way, batches says.
func (p *endpoint) Send(h transport.Header, payload []byte) error {
	if p.batch.open && p.appendBatch(h, payload) {
		return nil
	}
	l, n := p.link, recordBytes+padded(len(payload))
	if l == nil || len(payload) > p.maxEager || !p.t.room(l) || !p.flow.Ready() {
		return p.refuse("send", len(payload))
	}
	held := p.holds(n)
	n += headBytes
	if held {
		n = max(n, p.batch.size)
	}
	b, ok, err := p.sends.take(n)
	if !ok || err != nil {
		return p.refuseMemory("send", err)
	}
	n = headBytes + putRecord(p.sends.bytes(&b)[headBytes:], recordMessage, h, payload)
	if held {
		p.openBatch(b, n)
		return nil
	}
	p.send(l, b, n, nil)
	p.begun()
	return nil
}

// send posts an eager frame whose records lie in b behind its head. There is room,
// and the flow is ready.
func (p *endpoint) send(l *link, b buffer, length int, put *operation) {
	w := p.flow.Send()
	s := &p.slots[p.flow.Slot(w.Sequence())]
	*s = sent{b, length, put}
	p.post(l, w, s)
}

// postNext posts the oldest frame that is not on the connection. It returns false
// when there is none or no credit.
func (p *endpoint) postNext(l *link) bool {
	w, ok := p.flow.Next()
	if !ok {
		return false
	}
	p.post(l, w, &p.slots[p.flow.Slot(w.Sequence())])
	return true
}

// post posts the frame of a slot with the word it has now. An open frame is closed: it
// is the only one without a post.
func (p *endpoint) post(l *link, w credit.Word, s *sent) {
	p.batch.open = false
	putHead(p.sends.bytes(&s.buffer), w, frameEager, false)
	if p.activity++; p.activity%wearEvery == 0 {
		p.wear()
	}
	p.t.post(l, p.sends.framed(&s.buffer, s.length), s.lkey, p.sends.room.flag)
}

// sendRecord sends a record that is not a message. It returns false when there is
// no room.
func (p *endpoint) sendRecord(k recordKind, h transport.Header, payload []byte, put *operation) bool {
	if p.batch.open {
		p.postBatch()
	}
	l := p.link
	if l == nil || !p.t.room(l) || !p.flow.Ready() {
		return false
	}
	b, ok, err := p.sends.take(headBytes + recordBytes + padded(len(payload)))
	if !ok || err != nil {
		return false
	}
	p.send(l, b, headBytes+putRecord(p.sends.bytes(&b)[headBytes:], k, h, payload), put)
	return true
}

// refuse says why an operation cannot be taken now, or ever.
func (p *endpoint) refuse(op string, n int) error {
	switch {
	case p.t.closed:
		return p.failure(op, transport.ErrClosed)
	case p.end != nil:
		return p.failure(op, p.end)
	case op == "send" && n > p.maxEager:
		return p.failure(op, fmt.Errorf("%w: %d bytes, at most %d", transport.ErrTooLong, n, p.maxEager))
	case p.link == nil:
		p.want()
	case p.leaving != staying:
		p.idle = false // the next connection is needed
	}
	return transport.ErrAgain
}

// refuseMemory is refuse for want of registered memory.
func (p *endpoint) refuseMemory(op string, err error) error {
	if err != nil {
		return p.failure(op, err)
	}
	return transport.ErrAgain
}

// want asks the actor for a connection, once.
func (p *endpoint) want() {
	if !p.wanted && p.end == nil {
		p.wanted = true
		p.t.tell(p.peer, peering.Event{Kind: peering.Want})
	}
}

// use puts a link in use: what was not acknowledged is sent again.
func (p *endpoint) use(l *link, terms negotiation.Terms) {
	t := p.t
	if l.gone || l.used || p.end != nil {
		return
	}
	if err := p.board(l.rail); err != nil {
		l.failed(t, err)
		return
	}
	l.used, p.link, p.terms, p.wanted = true, l, terms, false
	p.connects++
	p.maxEager, p.depth = eagerMax(terms.Slot), terms.Depths.ORD
	if info, err := l.endpoint.Query(); err == nil {
		p.route = fmt.Sprintf("%v -> %v", info.Local, info.Remote)
	}
	p.flow.Connect(l.window, int(terms.SendCredits), t.measure.slots)
	t.stash = append(t.stash, stashed(l.held)...)
	l.held = nil
	if l.conn.Active {
		p.prompt = false
		t.sendProof(l, p.flow.Update()) // the active side speaks first
	}
	l.endpoint.Trust()
	p.bulk.resume(p)
	p.list()
}

// board moves the frames that are not acknowledged into the memory of another rail, which the
// connection to be used needs: they have the same size there. On an error nothing has
// changed that matters.
func (p *endpoint) board(r *rail) error {
	if r == p.rail {
		return nil
	}
	moved := make([]buffer, p.flow.Unacknowledged())
	for i := range moved {
		s := &p.slots[p.flow.Slot(p.acked+uint16(i))]
		b, err := r.sends.lend(s.length)
		if err != nil {
			for _, b := range moved[:i] {
				r.sends.give(b)
			}
			return err
		}
		copy(r.sends.bytes(&b), p.sends.bytes(&s.buffer)[:s.length])
		moved[i] = b
	}
	before := p.latest()
	for i, b := range moved {
		s := &p.slots[p.flow.Slot(p.acked+uint16(i))]
		if before != nil {
			before.left = append(before.left, s.buffer)
		} else {
			p.sends.give(s.buffer)
		}
		s.buffer = b
	}
	p.rail, p.sends = r, r.sends
	return nil
}

// latest returns a connection on the rail of the frames that is not free yet, whose adapter
// may still read them, or nil.
func (p *endpoint) latest() *link {
	for _, l := range p.t.links {
		if l.peer == p.peer && l.rail == p.rail && l.used {
			return l
		}
	}
	return nil
}

// retire takes the link in use out of use. Frames keep their slots, Reads and Writes
// that were under way are uncertain.
func (p *endpoint) retire(l *link) {
	if l != nil && l != p.link || p.link == nil {
		return
	}
	p.link.retired = true
	p.side.drop(p)
	p.closeAsides(nil)
	if p.bulk.reaches() {
		// An error means that the connection has ended: its memory is not used any more.
		_ = p.link.endpoint.Disconnect(verbs.CloseAbrupt)
	}
	moves := p.moves()
	p.link, p.batch.open, p.leaving = nil, false, staying
	p.flow.Disconnect()
	p.bulk.interrupt(p)
	if p.end == nil && (moves || p.flow.Unacknowledged() > 0 || p.bulk.any()) {
		p.want()
	}
}

// acknowledged takes note of frames that were acknowledged: the oldest ones.
func (p *endpoint) acknowledged(freed int) {
	for range freed {
		s := &p.slots[p.flow.Slot(p.acked)]
		p.acked++
		p.sends.give(s.buffer)
		if s.put != nil {
			s.put.marked(p)
		}
		*s = sent{}
	}
}

// update tells the peer what has been received and what it may send.
func (p *endpoint) update() {
	p.prompt = false
	p.t.sendControl(p.link, p.flow.Update(), frameUpdate, false)
	p.wear()
}

// list puts the endpoint among those that Poll goes on with.
func (p *endpoint) list() {
	if !p.listed {
		p.listed = true
		p.t.busy = append(p.t.busy, p)
	}
}

// service goes on with what waits, and reports whether anything still does.
func (p *endpoint) service() bool {
	l := p.link
	if l == nil || p.end != nil {
		return false
	}
	for p.flow.Queued() > 0 && p.t.room(l) && p.postNext(l) {
		// The condition does it.
	}
	p.bulk.drive(p)
	if p.flow.Due() || p.prompt && p.flow.Owed() {
		p.update()
	}
	return p.leaving != staying && p.part() || p.flow.Queued() > 0 || p.prompt || p.bulk.waits()
}

// rest is asked now and then by the actor. When there was no frame since and nothing
// is left to say, the connection may end.
func (p *endpoint) rest() {
	l := p.link
	if l == nil {
		return
	}
	quiet := p.activity == p.quiet && p.flow.Unacknowledged() == 0 && !p.bulk.any() && !p.bulk.waits()
	p.quiet = p.activity
	switch {
	case quiet && p.flow.Owed():
		p.update() // or the peer could not rest
	case quiet:
		p.relax()
	}
}

// cut ends the endpoint permanently: every operation ends with err, and nothing is kept.
func (p *endpoint) cut(err error) {
	p.end, p.silent, p.search, p.batch.open = err, time.Time{}, "", false
	for _, l := range p.t.links {
		if l.peer == p.peer {
			p.t.forget(l)
		}
	}
	p.bulk.end(p, err)
	for p.flow.Unacknowledged() > 0 && p.slots[p.flow.Slot(p.acked)].whole != nil {
		s := &p.slots[p.flow.Slot(p.acked)]
		p.sends.give(s.buffer)
		*s = sent{}
		p.acked++
	}
}

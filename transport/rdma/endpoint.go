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
	// put is the Put whose marker is in the frame, or nil. The acknowledgement confirms the Put's Writes.
	put *operation
}

// endpoint is the access to one peer: the lane and the operations, which outlive the connections that carry
// them.
type endpoint struct {
	t    *Transport
	peer int
	// link is the connection in use, or nil.
	link *link
	// rail is the rail of the last connection, or the first rail if there was none. sends is the send memory
	// of rail, which contains the frames of slots.
	rail  *rail
	sends *sendMemory
	flow  *credit.Flow
	// slots are the unacknowledged frames, from sequence number acked on. Close waits for those numbered below last.
	slots       []sent
	acked, last uint16
	// maxEager is the longest payload of a Send, and depth the ORD. Until the first connection, newEndpoint
	// determines both. From then on they have the negotiated values (terms).
	maxEager, depth int
	terms           negotiation.Terms
	route           string
	connects        int

	// wanted reports whether the actor was told that a connection is needed. silent is the time at which the
	// peer's present silence began, if the transport goes on waiting for the peer although it does not
	// answer. Otherwise silent is zero.
	wanted bool
	silent time.Time
	// search is a text about the state of the actor's attempts to connect. It is "" if there are no
	// attempts.
	search string
	// trials are texts about lost connections, attempts and looks, by the number of this rank's rail.
	trials map[uint8]string
	// prompt reports whether the next update is sent without delay, because the peer has asked for an acknowledgement.
	prompt bool
	// listed reports whether the endpoint is in Transport.busy.
	listed  bool
	leaving leaving
	// idle reports whether the connection is being ended because it has no traffic (method relax). Then no
	// other connection replaces it.
	idle bool
	// end is the error of all further operations: a *transport.PeerDown, or an error that is ErrClosed.
	// end is nil as long as the peer can be used.
	end error

	bulk  bulk
	side  side
	batch batch
	// activity counts frames and parts of operations. quiet is the value of activity at the actor's
	// last inspection.
	activity, quiet uint64
}

var _ transport.Endpoint = (*endpoint)(nil)

// newEndpoint returns the endpoint of a peer that is not connected. The messages that it allows fit into a
// receive of any host (Transport.wantedSlot), because the engine does not divide a message that it has queued.
func newEndpoint(t *Transport, peer int) *endpoint {
	r := t.rails[0]
	return &endpoint{
		t: t, peer: peer, rail: r, sends: r.sends, flow: credit.New(t.measure.slots), slots: make([]sent, t.measure.slots),
		maxEager: eagerMax(min(t.slot, slotDefault)), depth: r.policy.Limits.Offer().ORD, bulk: newBulk(), side: newSide(t),
	}
}

// eagerMax returns the longest payload of a message that fits into a receive.
func eagerMax(slot int) int { return (slot - headBytes - recordBytes) &^ 7 }

// Caps implements transport.Endpoint.
func (p *endpoint) Caps() transport.Caps {
	return transport.Caps{
		MaxEager: p.maxEager, EagerBest: min(p.maxEager, eagerMax(burstSlot)), EagerAlone: p.maxEager, CostlySend: true,
		Get: p.depth > 0, Put: true, FetchAdd: true, MaxReads: p.depth,
	}
}

var _ transport.Quieter = (*endpoint)(nil)

// quietFrames is the maximum number of unacknowledged frames for which a connection is quiet. In a dialogue or a
// barrier one or two frames are unacknowledged, because the peer's next frame acknowledges the earlier ones.
const quietFrames = 3

// Quiet implements transport.Quieter.
func (p *endpoint) Quiet() bool { return p.flow.Unacknowledged() <= quietFrames }

// Map implements transport.Endpoint. It returns an error, because memory of other nodes cannot be
// mapped.
func (p *endpoint) Map(transport.Key, int) ([]byte, error) {
	return nil, p.failure("map", transport.ErrNotSupported)
}

func (p *endpoint) failure(op string, err error) error { return p.t.failure(op, p.peer, err) }

// Send implements transport.Endpoint. The comment of type batches says when an accepted message is
// sent.
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
		if err != nil {
			return p.failure("send", err)
		}
		return transport.ErrAgain // for lack of registered memory
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

// send posts an eager frame whose records follow the frame's head in b. The caller ensures that the link
// has room and the flow is ready.
func (p *endpoint) send(l *link, b buffer, length int, put *operation) {
	w := p.flow.Send()
	s := &p.slots[p.flow.Slot(w.Sequence())]
	*s = sent{b, length, put}
	p.post(l, w, s)
}

// postNext posts the oldest frame that was not posted on this connection yet. It returns false if there is no
// such frame, or no credit, or if the frame waits for the word of the peer.
func (p *endpoint) postNext(l *link) bool {
	w, ok := p.flow.Next()
	if !ok {
		return false
	}
	p.post(l, w, &p.slots[p.flow.Slot(w.Sequence())])
	return true
}

// post posts the frame of a slot with the word w. post closes the open frame of the batch, so that no more
// records are appended to a posted frame.
func (p *endpoint) post(l *link, w credit.Word, s *sent) {
	p.batch.open = false
	putHead(p.sends.bytes(&s.buffer), w, frameEager, false)
	if p.activity++; p.activity%wearEvery == 0 {
		p.wear()
	}
	p.t.post(l, p.sends.framed(&s.buffer, s.length), s.lkey, p.sends.room.flag)
}

// sendRecord sends a record that is not a message. It returns false for lack of a connection, room, credit or memory.
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

// refuse returns the error of an operation that cannot be accepted. The error is ErrAgain if the operation
// may be accepted later, and the reason otherwise.
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
		p.idle = false // so that a new connection is made after this one has ended
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

// use puts a link in use. Frames that were not acknowledged are retransmitted.
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
	t.unhold(l)
	if l.conn.Active {
		p.prompt = false
		t.sendProof(l, p.flow.Update()) // the active side speaks first
	}
	l.endpoint.Trust()
	p.bulk.drive(p)
	p.list()
}

// board moves the frames that are not acknowledged into the send memory of rail r. The next connection to be
// used is on r. Each frame fits every rail. If board fails, the frames stay in their present
// memory.
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

// latest returns a link on p.rail that was in use and is not freed yet, or nil if there is no such link.
// The adapter of such a link may still read the frames.
func (p *endpoint) latest() *link {
	for _, l := range p.t.links {
		if l.peer == p.peer && l.rail == p.rail && l.used {
			return l
		}
	}
	return nil
}

// retire takes the link in use out of use. Frames keep their slots. The results of Reads and Writes in
// flight are unknown.
func (p *endpoint) retire(l *link) {
	if l != nil && l != p.link || p.link == nil {
		return
	}
	p.side.drop(p)
	p.closeAsides(nil)
	if p.bulk.reaches() {
		// An error of Disconnect means that the connection has ended, and that its adapter does not use
		// the memory any more.
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

// acknowledged frees the slots of frames that the peer has acknowledged. freed is their number.
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

// update sends the peer an acknowledgement and the peer's current credit.
func (p *endpoint) update() {
	p.prompt = false
	p.t.sendControl(p.link, p.flow.Update(), frameUpdate, false)
	p.wear()
}

// list adds the endpoint to the endpoints that Poll services.
func (p *endpoint) list() {
	if !p.listed {
		p.listed = true
		p.t.busy = append(p.t.busy, p)
	}
}

// service posts the frames and control frames that wait to be posted, and advances the operations and
// the orderly end of the connection. It returns true if the next Poll has to call it again.
func (p *endpoint) service() bool {
	l := p.link
	if l == nil || p.end != nil {
		return false
	}
	for p.flow.Queued() > 0 && p.t.room(l) && p.postNext(l) {
		// The condition posts a frame.
	}
	p.bulk.drive(p)
	if p.flow.Due() || p.prompt && p.flow.Owed() {
		p.update()
	}
	return p.leaving != staying && p.part() || p.flow.Queued() > 0 || p.bulk.waits()
}

// rest is called when the actor inspects the connection, from time to time. If there was no traffic since the
// last call and nothing is owed to the peer, rest begins to end the connection.
func (p *endpoint) rest() {
	l := p.link
	if l == nil {
		return
	}
	quiet := p.activity == p.quiet && p.flow.Unacknowledged() == 0 && !p.bulk.any() && !p.bulk.waits()
	p.quiet = p.activity
	switch {
	case quiet && p.flow.Owed():
		p.update() // without the update, the peer would regard the connection as busy
	case quiet:
		p.relax()
	}
}

// cut ends the endpoint permanently: every operation ends with err, and unacknowledged frames and undelivered
// messages are discarded.
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

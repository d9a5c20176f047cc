package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/transport"
)

// Send sends buf and returns when the caller may reuse buf. That is when the lane has copied the bytes (protocols
// eager and copy), or when the receiver has them (get and put). In mode Synchronous it does not return before
// the match. If ctx ends before the match, Send withdraws the message and returns a *CancelError. If ctx ends
// after the match, Send still waits until the bytes are transferred. ctx may be nil.
func (e *Engine) Send(ctx context.Context, to Match, t Type, buf []byte, m Mode) error {
	if ctx != nil && ctx.Err() != nil {
		return &CancelError{Op: opNames[opSend], Cause: context.Cause(ctx)}
	}
	e.lock()
	defer e.unlock()
	if e.sendNow(to, t, buf, m) {
		return nil
	}
	r := e.startSend(to, t, buf, m)
	if r.phase != phaseDone {
		e.waitRequest(ctx, r)
	}
	_, err := e.free(r)
	return err
}

// Isend starts a send. Wait returns its error. A zero Handle means that the send has already ended
// without error.
func (e *Engine) Isend(to Match, t Type, buf []byte, m Mode) Handle {
	e.lock()
	defer e.unlock()
	if e.sendNow(to, t, buf, m) {
		return Handle{}
	}
	return e.startSend(to, t, buf, m).handle()
}

// sendNow is the fast path of Send and Isend for a small standard message. The peer must be
// connected, there must be credit for the message, and no frames to the peer may be queued. sendNow
// returns false if it has not sent the message; the caller then takes the general path.
func (e *Engine) sendNow(to Match, t Type, buf []byte, m Mode) bool {
	if uint(to.Peer) >= uint(len(e.peers)) {
		return false
	}
	p := e.peers[to.Peer]
	if p == nil || len(buf) > p.eager || m != Standard || uint(to.Tag) > TagMax || to.Context >= e.barred && e.broken[to.Context] != nil {
		return false
	}
	if len(buf) > p.both && e.streams(p) {
		return false
	}
	cost := eagerCost(len(buf))
	if !p.out.fits(cost) || t.texted() && !p.announced.has(t) {
		return false
	}
	w := words(kindEager, 0, to.Context, int32(to.Tag), t, 0, p.in.limit())
	if e.transmit(p, w, buf) != nil {
		return false
	}
	p.out.sent += cost
	p.in.told = p.in.limit()
	e.token.Called()
	if ofProgram(to.Context) {
		e.recorder.Moved(e.texts.ops[opSend], to.Context, to.Peer, to.Tag, len(buf))
	}
	return true
}

// failed completes r with the error err and returns r. r has had no effect yet.
func (e *Engine) failed(r *Request, err error) *Request {
	e.complete(r, err)
	return r
}

// startSend starts a send. A message to this rank itself goes to sendSelf. A short message is sent
// eagerly if there is credit. Any other message is sent by rendezvous. mu is held.
func (e *Engine) startSend(to Match, t Type, buf []byte, m Mode) *Request {
	e.token.Called()
	o := opSend
	if m == Synchronous {
		o = opSync
	}
	r := e.newRequest(o, t, key{to.Context, int32(to.Peer), int32(to.Tag)}, buf)
	e.note(r)
	p, err := e.destination(r, to)
	if err != nil {
		return e.failed(r, err)
	}
	if p.tr == nil {
		e.sendSelf(r)
		return r
	}
	p.refresh()
	e.announce(p, t)
	if e.long(p, len(buf)) {
		e.sendEnvelope(r, 0)
		return r
	}
	cost := eagerCost(len(buf))
	if !p.out.fits(cost) {
		e.pollOnce() // credit may have arrived
	}
	switch {
	case e.err != nil:
		return e.failed(r, e.err)
	case p.down != nil:
		return e.failed(r, p.lost(r))
	case !p.out.fits(cost):
		e.sendEnvelope(r, flagStarved)
	default:
		e.sendEager(r, cost)
	}
	return r
}

// destination validates the address of a send and returns its peer. It sets r.peer.
func (e *Engine) destination(r *Request, to Match) (*peer, error) {
	if e.err != nil {
		return nil, e.err
	}
	if to.Context >= e.barred && e.broken[to.Context] != nil {
		return nil, e.broken[to.Context]
	}
	if uint(to.Tag) > TagMax {
		return nil, fmt.Errorf("%w: tag %d", ErrAddress, to.Tag)
	}
	p, err := e.to(to.Peer)
	if err != nil {
		return nil, err
	}
	r.peer = p
	if p.down != nil {
		return nil, p.lost(r)
	}
	return p, nil
}

// sendEager sends a message eagerly. cost is the credit that the message consumes.
func (e *Engine) sendEager(r *Request, cost uint32) {
	h := header{kind: kindEager, context: r.target.context, tag: r.target.tag, typ: r.typ}
	if r.op == opSync {
		if !e.enrol(r) {
			return
		}
		h.flags, h.id = flagSync, r.id
	}
	r.peer.out.sent += cost
	e.emit(r, h.pack(), r.buf)
}

// sendEnvelope starts a rendezvous: it sends the envelope (RTS). A message is starved if it is short
// and the sender has no credit for it. If Gets are possible and the message is not starved,
// sendEnvelope exposes the bytes and sends their key with the envelope.
func (e *Engine) sendEnvelope(r *Request, flags uint8) {
	if !e.enrol(r) {
		return
	}
	p := r.peer
	v := envelope{length: uint64(len(r.buf))}
	if flags&flagStarved == 0 && p.caps.Get && len(r.buf) > 0 {
		if k, err := p.tr.Expose(r.buf, transport.AccessRead); err == nil {
			r.key, r.exposed = k, true
			v.key = k
			flags |= flagKey
		}
	}
	h := header{kind: kindRTS, flags: flags, context: r.target.context, tag: r.target.tag, typ: r.typ, id: r.id}
	e.emit(r, h.pack(), e.envelope(v))
}

// enrol assigns an id to r. The peer names this id in its answers. If there is no free id, enrol
// completes r with an error and returns false.
func (e *Engine) enrol(r *Request) bool {
	r.move = transfer{} // clear what an earlier operation has left in the record
	if r.id = e.operations.add(r); r.id == 0 {
		e.complete(r, errTooMany)
		return false
	}
	return true
}

// emit sends the frame of a request, or queues it until the lane takes it. w are the words of its header,
// without a limit. The body of an eager message is not copied. It is the slice of the request, which stays
// valid until the lane has taken the frame.
func (e *Engine) emit(r *Request, w transport.Header, body []byte) {
	p := r.peer
	if len(p.batch) > 0 {
		e.sendBatch(p)
	}
	if p.pending.head == nil {
		err := e.transmit(p, p.current(w), body)
		if err == nil {
			p.accepted()
			e.sent(r, w)
			return
		}
		if !errors.Is(err, transport.ErrAgain) {
			e.refused(p, err)
		}
	}
	f := e.newFrame(w)
	f.req = r
	if kindOf(w) == kindEager {
		f.body = body
	} else {
		f.body = e.spare.copyOf(body)
	}
	r.phase = phaseQueued
	e.keep(p, f)
}

// sent records that the lane has taken the frame of a request. A standard eager send or a handover
// is then complete. Any other send waits for an answer.
func (e *Engine) sent(r *Request, w transport.Header) {
	if k := kindOf(w); k == kindHandover || k == kindEager && !isSync(w) {
		e.complete(r, nil)
		return
	}
	r.phase = phaseAnnounced
}

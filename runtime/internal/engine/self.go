package engine

// selfEager is the length in bytes of the longest message of a rank to itself that is copied if no
// matching receive is posted.
const selfEager = 64 << 10

// sendSelf sends a message to this rank itself. If a matching receive is posted, it passes
// the message to the receive (accept). Otherwise the message becomes unexpected. A standard send
// of at most selfEager bytes, for which there is credit, then completes at once, because the
// message holds a copy. Any other send stays pending until the match, and the message refers to the
// request of the send.
func (e *Engine) sendSelf(r *Request) {
	p, cost := r.peer, eagerCost(len(r.buf))
	copied := r.op != opSync && len(r.buf) <= selfEager && p.out.fits(cost)
	if !copied && !e.enrol(r) { // the id lets Engine.fail and withdrawSelf find the request
		return
	}
	h := header{kind: kindEager, tag: r.target.tag, typ: r.typ, id: r.id}
	g := e.newMessage(p, h)
	g.length, g.self = len(r.buf), r
	r.phase = phaseAnnounced
	if en := e.match.receive(r.target); en != nil {
		e.accept(en.req, g)
		return
	}
	if !copied {
		p.await(g)
		e.keepMessage(g, r.target)
		return
	}
	p.out.sent += cost
	p.in.arrived += cost
	g.self, g.cost = nil, cost
	g.data = e.spare.get(len(r.buf))
	e.recorder.Unexpected(len(r.buf))
	copy(g.data, r.buf)
	e.keepMessage(g, r.target)
	e.complete(r, nil)
}

// withdrawSelf cancels an unmatched send of this rank to itself.
func (e *Engine) withdrawSelf(r *Request) {
	if g := r.peer.awaited(r.id); g != nil {
		e.match.take(g)
		e.freeMessage(g)
		e.complete(r, r.cancelError())
	}
}

package engine

// selfEager is the longest message of a rank to itself that is copied when no
// receive waits for it.
const selfEager = 64 << 10

// sendSelf sends to this rank. It copies into the buffer of a waiting receive. Without one, the
// message becomes unexpected. It holds a copy of the bytes or, if these are many or the send
// is synchronous, the send itself.
func (e *Engine) sendSelf(r *Request) {
	p, cost := r.peer, eagerCost(len(r.buf))
	copied := r.op != opSync && len(r.buf) <= selfEager && p.out.fits(cost)
	if !copied && !e.enrol(r) { // so that it ends with the engine at the latest
		return
	}
	h := header{kind: kindEager, tag: r.target.tag, typ: r.typ}
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

// withdrawSelf ends a send of this rank to itself that no receive has matched.
func (e *Engine) withdrawSelf(r *Request) {
	for g := r.peer.envelopes; g != nil; g = g.after {
		if g.self == r {
			e.match.take(g)
			e.freeMessage(g)
			e.complete(r, r.cancelError())
			return
		}
	}
}

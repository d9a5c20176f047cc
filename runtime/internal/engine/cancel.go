package engine

// cancel asks for the end of an operation. cause is the error of the wait for it, or nil. An
// operation that is matched continues: a receive that has its message, a send whose bytes
// move. A send whose envelope was sent asks its peer to forget the envelope. It ends with the
// answer kindWithdrawn, or continues with the next frame of a match.
func (e *Engine) cancel(r *Request, cause error) {
	if r.canceled || r.phase == phaseDone {
		return
	}
	r.canceled, r.cause = true, cause
	switch r.phase {
	case phasePosted:
		e.match.unpost(&r.entry)
		e.complete(r, r.cancelError())
	case phaseQueued:
		e.unqueue(r)
	case phaseAnnounced:
		if r.peer.tr == nil {
			e.withdrawSelf(r)
			return
		}
		r.withdrawn = true
		e.post(r.peer, header{kind: kindWithdraw, id: r.id}, nil)
	default:
	}
}

// cancelError is the result of a cancelled request: the error of the wait that cancelled it,
// which contains the cause.
func (r *Request) cancelError() error {
	if of, ok := r.cause.(*CancelError); ok { //nolint:errorlint // as wait made it
		return of
	}
	return &CancelError{Op: opNames[r.op], Cause: r.cause}
}

// unqueue ends a send whose frame the lane has not taken.
func (e *Engine) unqueue(r *Request) {
	p := r.peer
	if h, ok := e.unkeep(p, r); ok && h.kind == kindEager {
		p.out.sent -= eagerCost(len(r.buf))
	}
	e.complete(r, r.cancelError())
}

// arriveWithdraw forgets an envelope that no receive has matched. It does nothing if the
// envelope is matched, or was dropped with the peer.
func (e *Engine) arriveWithdraw(p *peer, id uint32) {
	for g := p.envelopes; g != nil; g = g.after {
		if g.id == id {
			e.match.take(g)
			e.freeMessage(g)
			e.post(p, header{kind: kindWithdrawn, id: id}, nil)
			return
		}
	}
}

// arriveWithdrawn ends a send whose envelope was forgotten: because this rank asked for that,
// or because the peer does not use the context any more.
func (e *Engine) arriveWithdrawn(p *peer, id uint32) error {
	r := e.operations.find(id)
	if r == nil || r.peer != p || r.op > opSync || r.phase != phaseAnnounced {
		return stray("WITHDRAWN", id)
	}
	if !r.withdrawn {
		e.complete(r, ErrForgotten)
		return nil
	}
	e.complete(r, r.cancelError())
	return nil
}

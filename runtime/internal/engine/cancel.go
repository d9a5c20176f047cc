package engine

// cancel cancels an operation if it is not matched yet. cause is the error of the wait for the
// operation, or nil. A matched operation continues: a receive that has its message, or a send
// whose bytes are being transferred. For a send whose envelope was sent, cancel asks the peer to
// forget the envelope. The send ends when the peer answers with kindWithdrawn. If the peer has
// already matched the envelope, it does not answer with kindWithdrawn. The send then continues, and
// the peer's next frame for this send shows the match.
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
		e.post(r.peer, header{kind: kindWithdraw, id: r.id}.pack(), nil)
	default:
	}
}

// cancelError returns the error of a cancelled request. If a wait has cancelled the request,
// cancelError returns the error of that wait, which contains the cause.
func (r *Request) cancelError() error {
	if of, ok := r.cause.(*CancelError); ok { //nolint:errorlint // as wait made it
		return of
	}
	return &CancelError{Op: opNames[r.op], Cause: r.cause}
}

// unqueue cancels a send whose frame is still queued, because the lane has not taken it.
func (e *Engine) unqueue(r *Request) {
	p := r.peer
	if w, ok := e.unkeep(p, r); ok && kindOf(w) == kindEager {
		p.out.sent -= eagerCost(len(r.buf))
	}
	e.complete(r, r.cancelError())
}

// arriveWithdraw handles the request of a peer to forget an envelope. If no receive has matched the
// envelope, arriveWithdraw removes the envelope and confirms the removal. If the envelope is matched,
// or was dropped because its context was closed (Engine.drop), arriveWithdraw does nothing.
func (e *Engine) arriveWithdraw(p *peer, id uint32) {
	if g := p.awaited(id); g != nil {
		e.match.take(g)
		e.freeMessage(g)
		e.post(p, header{kind: kindWithdrawn, id: id}.pack(), nil)
	}
}

// arriveWithdrawn ends a send whose envelope the peer has forgotten. Either this rank has asked the
// peer to forget it, or the peer does not use the context any more.
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

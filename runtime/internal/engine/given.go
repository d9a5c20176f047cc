package engine

import "github.com/gorun-hpc/gorun/transport"

// sendGiven sends the bytes of arena memory by a protocol other than handover. If it returns true, the
// request owns the memory until the bytes are transferred. No goroutine waits for the request. mu is
// held.
func (e *Engine) sendGiven(to Match, t Type, k transport.Key, buf []byte) (bool, error) {
	r := e.startSend(to, t, buf, Standard)
	r.gift = k.Addr
	if r.phase != phaseDone {
		r.given = true
		return true, nil
	}
	if r.err == nil {
		e.reclaim(r)
	}
	_, err := e.free(r)
	return false, err
}

// endGiven reclaims the memory of a completed request of sendGiven, and frees the request.
func (e *Engine) endGiven(r *Request) {
	e.reclaim(r)
	_, _ = e.free(r) // SendHandover has returned already
}

// reclaim returns the memory of a sendGiven to its arena when the transfer of the bytes has ended. If the peer
// is lost, Config.Lost has already reclaimed the memory.
func (e *Engine) reclaim(r *Request) {
	if e.cfg.Release != nil && !r.peer.reclaimed {
		e.cfg.Release(r.peer.rank, r.gift)
	}
}

package engine

import "github.com/gorun-hpc/gorun/transport"

// sendGiven sends arena memory by the other protocols and leaves it to the request,
// which nobody waits for. mu is held.
func (e *Engine) sendGiven(to Match, t Type, k transport.Key, buf []byte, pc uintptr) error {
	r := e.startSend(to, t, buf, Standard, pc)
	r.gift = k.Addr
	if r.phase != phaseDone {
		r.given = true
		return nil
	}
	if r.err == nil {
		e.reclaim(r)
	}
	_, err := e.free(r)
	return err
}

// endGiven ends a request that nobody waits for.
func (e *Engine) endGiven(r *Request) {
	e.reclaim(r)
	_, _ = e.free(r) // its sender has been told that it is on its way
}

// reclaim gives back the memory of a sendGiven whose bytes have travelled. What was
// given to a peer that is lost Config.Lost has taken back.
func (e *Engine) reclaim(r *Request) {
	if e.cfg.Release != nil && !r.peer.reclaimed {
		e.cfg.Release(r.peer.rank, r.gift)
	}
}

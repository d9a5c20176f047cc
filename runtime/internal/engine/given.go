package engine

import "github.com/gorun-hpc/gorun/transport"

// sendGiven sends arena memory by the other protocols. The memory belongs to the request, for
// which no goroutine waits. mu is held.
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

// endGiven ends a request for which no goroutine waits.
func (e *Engine) endGiven(r *Request) {
	e.reclaim(r)
	_, _ = e.free(r) // SendHandover has returned already
}

// reclaim returns the memory of a sendGiven after the transfer of its bytes. If the peer is
// lost, Config.Lost has reclaimed the memory.
func (e *Engine) reclaim(r *Request) {
	if e.cfg.Release != nil && !r.peer.reclaimed {
		e.cfg.Release(r.peer.rank, r.gift)
	}
}

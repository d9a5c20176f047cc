package engine

import "fmt"

// Notify sends a number and a short text to a peer, which passes them to its Config.Notice. The
// frame goes through the lane, in order with all other frames, but uses neither matching nor
// credit. If the text is longer than noticeMax bytes, Notify sends only its first noticeMax bytes.
// Notify sends nothing to a peer that is down or to this rank itself.
func (e *Engine) Notify(rank, number int, text []byte) {
	e.lock()
	defer e.unlock()
	p, err := e.to(rank)
	if err != nil || p.tr == nil || p.down != nil || e.err != nil {
		return
	}
	e.post(p, header{kind: kindNotice, tag: int32(number)}.pack(), text[:min(len(text), noticeMax)])
}

// noticeMax is the largest length in bytes of the text of a notice. The MaxEager of every transport
// is at least noticeMax.
const noticeMax = 256

// arriveNotice passes the number and the text of a kindNotice frame to Config.Notice.
func (e *Engine) arriveNotice(p *peer, number int32, text []byte) error {
	if len(text) > noticeMax {
		return fmt.Errorf("%w: notice of %d bytes", ErrProtocol, len(text))
	}
	if e.cfg.Notice != nil {
		e.cfg.Notice(p.rank, int(number), text)
	}
	return nil
}

// Break ends every unmatched operation of a context with err, and refuses every later operation
// of the context with err. A send whose envelope was sent ends only when its peer has confirmed
// that it dropped the envelope. The error of a send is a *CancelError whose cause is err.
func (e *Engine) Break(context uint32, err error) {
	e.lock()
	defer e.unlock()
	if e.broken[context] != nil {
		return
	}
	e.bar(context, err)
	for _, r := range e.unmatched(context) {
		if r.phase == phasePosted {
			e.match.unpost(&r.entry)
			e.complete(r, err)
		} else {
			e.cancel(r, err)
		}
	}
	for _, w := range e.probing {
		if w.from.context == context && w.err == nil && !w.fired {
			w.err = err
			e.rouse(w)
		}
	}
}

// bar makes all later operations of a context fail with err.
func (e *Engine) bar(context uint32, err error) {
	if e.broken == nil {
		e.broken = make(map[uint32]error)
	}
	e.broken[context] = err
	e.barred = min(e.barred, context)
}

// unmatched returns the operations of a context that may be unmatched. These are posted receives,
// sends with a frame that the lane has not taken yet, and all other operations with an id. The queued
// sends are in the order of their frames, so that unkeep finds each of them soon. An operation with an id
// may be matched already. It does no harm in the list, because cancel does not end it.
func (e *Engine) unmatched(context uint32) []*Request {
	var found []*Request
	e.match.eachPosted(func(en *entry) {
		if en.context == context {
			found = append(found, en.req)
		}
	})
	for _, p := range e.peers {
		if p == nil {
			continue
		}
		for f := p.pending.head; f != nil; f = f.next {
			if f.req != nil && f.req.target.context == context {
				found = append(found, f.req)
			}
		}
	}
	for i := range e.operations.slots {
		if r := e.operations.slots[i].req; r != nil && r.target.context == context && r.phase != phaseQueued {
			found = append(found, r)
		}
	}
	return found
}

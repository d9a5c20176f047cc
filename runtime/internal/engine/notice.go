package engine

import (
	"fmt"
	"slices"
)

// Notify sends a number and a short text to the Config.Notice of a peer. The frame goes through
// the lane as all frames do, without matching and credit. Nothing is sent to a peer that is
// down.
func (e *Engine) Notify(rank, number int, text []byte) {
	e.lock()
	defer e.unlock()
	p, err := e.to(rank)
	if err != nil || p.tr == nil || p.down != nil || e.err != nil {
		return
	}
	e.post(p, header{kind: kindNotice, tag: int32(number)}, text[:min(len(text), noticeMax)])
}

// noticeMax bounds the text of a notice in bytes. Every transport takes frames of that size.
const noticeMax = 256

// arriveNotice passes a notice to Config.Notice.
func (e *Engine) arriveNotice(p *peer, number int32, text []byte) error {
	if len(text) > noticeMax {
		return fmt.Errorf("%w: notice of %d bytes", ErrProtocol, len(text))
	}
	if e.cfg.Notice != nil {
		e.cfg.Notice(p.rank, int(number), text)
	}
	return nil
}

// Break ends every unmatched operation of a context, present or later, with err. Sends end
// with a *CancelError around err when their peer has confirmed that it forgot them.
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

// bar refuses the later operations of a context.
func (e *Engine) bar(context uint32, err error) {
	if e.broken == nil {
		e.broken = make(map[uint32]error)
	}
	e.broken[context] = err
	e.barred = min(e.barred, context)
}

// unmatched lists the operations of a context that are not matched yet as far as this rank
// knows.
func (e *Engine) unmatched(context uint32) []*Request {
	var found []*Request
	e.match.eachPosted(func(en *entry) {
		if en.context == context {
			found = append(found, en.req)
		}
	})
	for i := range e.operations.slots {
		if r := e.operations.slots[i].req; r != nil && r.target.context == context {
			found = append(found, r)
		}
	}
	for _, p := range e.peers {
		if p == nil {
			continue
		}
		for f := p.pending.head; f != nil; f = f.next {
			if f.req != nil && f.req.target.context == context && !slices.Contains(found, f.req) {
				found = append(found, f.req)
			}
		}
	}
	return found
}

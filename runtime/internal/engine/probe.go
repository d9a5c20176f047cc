package engine

import (
	"context"
	"slices"
)

// Matched is a message that a matched probe has taken out of matching. It must be received
// once.
type Matched struct {
	e *Engine
	g *message
}

// Probe waits for a message and describes it. The message stays unexpected.
func (e *Engine) Probe(ctx context.Context, from Match, pc uintptr) (Status, error) {
	e.lock()
	defer e.unlock()
	g, err := e.waitMessage(ctx, from, "probe", pc)
	if err != nil {
		return Status{}, err
	}
	return g.status(), nil
}

// Iprobe polls once and describes a message, if there is one.
func (e *Engine) Iprobe(from Match) (Status, bool, error) {
	s, idle, err := e.iprobe(from)
	e.rest(idle)
	return s, idle == 0, err
}

// iprobe is Iprobe under the lock. idle is above 0 if there is no message, see rest.
func (e *Engine) iprobe(from Match) (s Status, idle uint, err error) {
	e.lock()
	defer e.unlock()
	g, err := e.findMessage(from, "probe")
	if g == nil {
		return Status{}, e.nothing(), err
	}
	return g.status(), 0, nil
}

// Mprobe waits for a message and takes it out of matching.
func (e *Engine) Mprobe(ctx context.Context, from Match, pc uintptr) (*Matched, error) {
	e.lock()
	defer e.unlock()
	g, err := e.waitMessage(ctx, from, "matched probe", pc)
	if err != nil {
		return nil, err
	}
	return e.takeMatched(g), nil
}

// Improbe polls once and takes a message out of matching, if there is one.
func (e *Engine) Improbe(from Match) (*Matched, bool, error) {
	m, idle, err := e.improbe(from)
	e.rest(idle)
	return m, idle == 0, err
}

// improbe is Improbe under the lock. idle is as for iprobe.
func (e *Engine) improbe(from Match) (m *Matched, idle uint, err error) {
	e.lock()
	defer e.unlock()
	g, err := e.findMessage(from, "matched probe")
	if g == nil {
		return nil, e.nothing(), err
	}
	return e.takeMatched(g), 0, nil
}

// takeMatched takes a message out; its sender cannot withdraw it any more.
func (e *Engine) takeMatched(g *message) *Matched {
	e.match.take(g)
	if g.waits {
		g.peer.forget(g)
	}
	return &Matched{e: e, g: g}
}

// findMessage polls at most once for a message.
func (e *Engine) findMessage(from Match, what string) (*message, error) {
	if err := e.checkSource(from); err != nil {
		return nil, err
	}
	k := key{from.Context, int32(from.Peer), int32(from.Tag)}
	g := e.match.look(k)
	if g == nil {
		e.pollOnce()
		g = e.match.look(k)
	}
	if g == nil {
		return nil, e.knownLoss(k, what)
	}
	return g, nil
}

// waitMessage waits for an unexpected message.
func (e *Engine) waitMessage(ctx context.Context, from Match, what string, pc uintptr) (*message, error) {
	g, err := e.findMessage(from, what)
	if g != nil || err != nil {
		return g, err
	}
	w := e.newWaiter()
	defer e.freeWaiter(w)
	w.what, w.pc, w.from = what, pc, key{from.Context, int32(from.Peer), int32(from.Tag)}
	if w.noted = ofProgram(from.Context); w.noted {
		w.record = e.recorder.Begin(e.texts.probe, from.Context, from.Peer, from.Tag, 0)
	}
	e.probing = append(e.probing, w)
	for g == nil && err == nil {
		w.fired = false
		if err = e.wait(ctx, w); err != nil {
			break
		}
		// Meanwhile the message may have been taken, withdrawn, or lost with its sender. A loss
		// or a break since the wake-up is not reported yet, because the wait had ended.
		if g = e.match.look(w.from); g == nil {
			if err = e.checkSource(from); err == nil {
				err = e.knownLoss(w.from, what)
			}
		}
	}
	if w.noted {
		e.recorder.End(w.record, 0, err != nil)
	}
	i := slices.Index(e.probing, w)
	e.probing = slices.Delete(e.probing, i, i+1)
	return g, err
}

// Status describes the message.
func (m *Matched) Status() Status {
	e := m.e
	e.lock()
	defer e.unlock()
	return m.g.status()
}

// Recv receives the message. It cannot be cancelled: when ctx ends, Recv still
// waits for the bytes.
func (m *Matched) Recv(ctx context.Context, t Type, buf []byte, pc uintptr) (Status, error) {
	return m.Irecv(t, buf, pc).Wait(ctx)
}

// Irecv starts to receive the message.
func (m *Matched) Irecv(t Type, buf []byte, pc uintptr) Handle {
	e := m.e
	e.lock()
	defer e.unlock()
	return m.start(opRecv, t, buf, pc).handle()
}

// start gives the message to a new receive.
func (m *Matched) start(o op, t Type, buf []byte, pc uintptr) *Request {
	e, g := m.e, m.g
	e.token.Called()
	k := key{source: int32(g.peer.rank), tag: g.tag, context: g.links[shapeExact].context}
	r := e.newRequest(o, t, k, buf, pc)
	e.note(r)
	m.g = nil
	switch {
	case e.err != nil:
		e.freeMessage(g)
		return e.failed(r, e.err)
	case g.peer.down != nil && g.kind == kindRTS:
		r.peer = g.peer
		e.freeMessage(g)
		return e.failed(r, r.peer.lost(r))
	}
	e.accept(r, g)
	return r
}

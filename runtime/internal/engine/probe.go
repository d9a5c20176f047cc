package engine

import (
	"context"
	"slices"
)

// Matched is a message that a matched probe has taken out of matching. It must be received
// exactly once.
type Matched struct {
	e *Engine
	g *message
}

// Probe waits for a message and returns its Status. The message stays unexpected.
func (e *Engine) Probe(ctx context.Context, from Match) (Status, error) {
	e.lock()
	defer e.unlock()
	g, err := e.waitMessage(ctx, from, "probe")
	if err != nil {
		return Status{}, err
	}
	return g.status(), nil
}

// Iprobe polls at most once and returns the Status of a matching message, if there is one.
func (e *Engine) Iprobe(from Match) (Status, bool, error) {
	s, idle, err := e.iprobe(from)
	e.rest(idle)
	return s, idle == 0, err
}

// iprobe is the part of Iprobe that holds the lock. idle is 0 if there is a message; otherwise it is
// the result of Engine.nothing, to be passed to Engine.rest.
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
func (e *Engine) Mprobe(ctx context.Context, from Match) (*Matched, error) {
	e.lock()
	defer e.unlock()
	g, err := e.waitMessage(ctx, from, "matched probe")
	if err != nil {
		return nil, err
	}
	return e.takeMatched(g), nil
}

// Improbe polls at most once and takes a matching message out of matching, if there is one.
func (e *Engine) Improbe(from Match) (*Matched, bool, error) {
	m, idle, err := e.improbe(from)
	e.rest(idle)
	return m, idle == 0, err
}

// improbe is the part of Improbe that holds the lock. idle has the same meaning as in iprobe.
func (e *Engine) improbe(from Match) (m *Matched, idle uint, err error) {
	e.lock()
	defer e.unlock()
	g, err := e.findMessage(from, "matched probe")
	if g == nil {
		return nil, e.nothing(), err
	}
	return e.takeMatched(g), 0, nil
}

// takeMatched takes a message out of matching. Its sender cannot withdraw it any more.
func (e *Engine) takeMatched(g *message) *Matched {
	e.match.take(g)
	if g.waits {
		g.peer.forget(g)
	}
	return &Matched{e: e, g: g}
}

// findMessage returns the oldest unexpected message that matches from, or nil. If there is no such
// message at first, it polls once. If there is still no message, it returns the error with which a
// receive from the same address would end at once. If such a receive would wait, the error is nil.
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

// waitMessage waits for an unexpected message that matches from.
func (e *Engine) waitMessage(ctx context.Context, from Match, what string) (*message, error) {
	g, err := e.findMessage(from, what)
	if g != nil || err != nil {
		return g, err
	}
	w := e.newWaiter()
	defer e.freeWaiter(w)
	w.what, w.from = what, key{from.Context, int32(from.Peer), int32(from.Tag)}
	if w.noted = ofProgram(from.Context); w.noted {
		w.record = e.recorder.Begin(e.texts.probe, from.Context, from.Peer, from.Tag, 0)
	}
	e.probing = append(e.probing, w)
	for g == nil && err == nil {
		w.fired = false
		if err = e.wait(ctx, w); err != nil {
			break
		}
		// Between the wake-up and now, a receive may have taken the message, the sender may have
		// withdrawn it, or the sender may have been lost. lose and Break do not set the error of a
		// wait that has already succeeded, so check for their errors here.
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

// Status returns the source, tag, length and type of the message.
func (m *Matched) Status() Status {
	e := m.e
	e.lock()
	defer e.unlock()
	return m.g.status()
}

// Recv receives the message into buf. It cannot be cancelled, because the message is matched: when
// ctx ends, Recv still waits for the bytes.
func (m *Matched) Recv(ctx context.Context, t Type, buf []byte) (Status, error) {
	return m.Irecv(t, buf).Wait(ctx)
}

// Irecv starts to receive the message into buf. Errors come from Wait.
func (m *Matched) Irecv(t Type, buf []byte) Handle {
	e := m.e
	e.lock()
	defer e.unlock()
	return m.start(opRecv, t, buf).handle()
}

// start creates the request of a receive and gives it the message.
func (m *Matched) start(o op, t Type, buf []byte) *Request {
	e, g := m.e, m.g
	e.token.Called()
	k := key{source: int32(g.peer.rank), tag: g.tag, context: g.links[shapeExact].context}
	r := e.newRequest(o, t, k, buf)
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

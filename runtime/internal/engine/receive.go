package engine

import (
	"context"
	"fmt"
)

// Recv receives a message into buf and returns its Status. The error is a *TruncatedError if the
// message is longer than buf, and a *TypeMismatchError or a *LabelError if it has another element
// type or label. If ctx ends before the match, Recv returns a *CancelError and no message is lost.
// ctx may be nil.
func (e *Engine) Recv(ctx context.Context, from Match, t Type, buf []byte) (Status, error) {
	e.lock()
	defer e.unlock()
	r := e.startReceive(opRecv, from, t, buf)
	if r.late = ofProgram(from.Context); r.phase != phaseDone {
		e.waitRequest(ctx, r)
	}
	if r.late {
		r.late = false
		e.noteReceived(r)
	}
	return e.free(r)
}

// Irecv starts a receive into buf. Errors come from Wait.
func (e *Engine) Irecv(from Match, t Type, buf []byte) Handle {
	e.lock()
	defer e.unlock()
	r := e.startReceive(opRecv, from, t, buf)
	e.noteStarted(r)
	return r.handle()
}

// startReceive starts a receive. It gives the oldest matching unexpected message to the receive. If
// there is no such message, it posts the receive. mu is held.
func (e *Engine) startReceive(o op, from Match, t Type, buf []byte) *Request {
	e.token.Called()
	k := key{from.Context, int32(from.Peer), int32(from.Tag)}
	r := e.newRequest(o, t, k, buf)
	sound := e.sound(from)
	if !sound {
		if err := e.checkSource(from); err != nil {
			return e.failed(r, err)
		}
	}
	if g := e.match.look(k); g != nil {
		e.match.take(g)
		e.accept(r, g)
		return r
	}
	if !sound {
		if err := e.knownLoss(k, opNames[o]); err != nil {
			return e.failed(r, err)
		}
	}
	r.entry.key = k
	r.phase = phasePosted
	e.match.post(&r.entry)
	return r
}

// sound reports whether checkSource and knownLoss certainly return nil, so that the caller need not call them. The
// engine has not ended, and Break and CloseContexts cannot have affected the context. The source in from is a peer
// that is up (not AnySource), and the tag is valid (not AnyTag). sound is a separate function so that the compiler
// inlines it.
func (e *Engine) sound(from Match) bool {
	if e.err != nil || from.Context >= e.barred || uint(from.Peer) >= uint(len(e.peers)) || uint(from.Tag) > TagMax {
		return false
	}
	p := e.peers[from.Peer]
	return p != nil && p.down == nil
}

// checkSource validates the address of a receive or a probe. It returns ErrAddress, the error of
// the engine, or the error of a context that Break or CloseContexts ended.
func (e *Engine) checkSource(from Match) error {
	if e.err != nil {
		return e.err
	}
	if from.Context >= e.barred && e.broken[from.Context] != nil {
		return e.broken[from.Context]
	}
	if from.Tag < AnyTag || from.Tag > TagMax {
		return fmt.Errorf("%w: tag %d", ErrAddress, from.Tag)
	}
	if from.Peer == AnySource {
		return nil
	}
	_, err := e.to(from.Peer)
	return err
}

// accept gives a receive its message. The message is in no table. If a RecvMessage needs much
// memory for an announced message, its goroutine has to allocate the memory first (phaseHeld).
func (e *Engine) accept(r *Request, g *message) {
	r.peer = g.peer
	if r.op == opRecvMessage && g.length > directMax && (g.kind == kindRTS || g.self != nil) {
		e.hold(r, g)
		return
	}
	e.receive(r, g)
}

// receive copies the bytes of a matched message to its receive, takes over the memory of the message, or begins
// the transfer of the bytes. accept calls it if the receive need not wait for memory, and provide after such a wait.
func (e *Engine) receive(r *Request, g *message) {
	switch {
	case g.self != nil:
		e.deliver(r, g.tag, g.typ, g.self.buf)
		s := g.self
		e.freeMessage(g)
		e.complete(s, nil)
	case g.kind == kindEager:
		e.deliver(r, g.tag, g.typ, g.data)
		if g.flags&flagSync != 0 {
			e.post(g.peer, header{kind: kindACK, id: g.id}.pack(), nil)
		}
		e.freeMessage(g)
	case g.kind == kindHandover:
		tag, typ, k, length, b := g.tag, g.typ, g.key, g.length, g.local
		e.freeMessage(g)
		e.takeOver(r, tag, typ, k, length, b)
	default:
		e.pull(r, g)
	}
}

// deliver copies the bytes of a message to its receive and completes the receive.
func (e *Engine) deliver(r *Request, tag int32, typ Type, payload []byte) {
	n := e.admit(r, tag, typ, len(payload))
	if n > 0 {
		copy(r.buf, payload)
	}
	e.complete(r, nil)
}

// admit sets the Status of a receive from its message and returns how many of the bytes the receive
// takes. If the message is too long, the receive takes as many bytes as the buffer holds. In a type
// mismatch, or if there is no memory, it takes no bytes. admit records the error of the truncation
// or the mismatch.
func (e *Engine) admit(r *Request, tag int32, typ Type, length int) int {
	p := r.peer
	r.phase = phaseMoving
	r.status = Status{Source: p.rank, Tag: int(tag), Bytes: length, Type: typ}
	if r.err != nil {
		r.status.Bytes = 0 // a *MemoryError, see provide
		return 0
	}
	if r.op == opRecvMessage && r.buf == nil {
		r.buf = make([]byte, length)
		r.carry(Message{Bytes: r.buf})
	}
	if (r.typ != typ || typ >= TypeNamed) && r.typ != 0 && typ != 0 && !e.agree(p, typ, r.typ) {
		r.status.Bytes = 0
		r.err = e.mismatch(p, int(tag), typ, r.typ)
		return 0
	}
	if length > len(r.buf) {
		r.status.Bytes = len(r.buf)
		r.err = &TruncatedError{Source: p.rank, Tag: int(tag), Sent: length, Room: len(r.buf)}
	}
	return r.status.Bytes
}

package engine

import (
	"context"
	"fmt"
)

// The table shows where the memory of a message that RecvMessage receives comes from. A message is announced
// if its bytes are still at the sender (rendezvous).
//
//	message                            memory
//	eager                              allocated at the match
//	announced, at most directMax       allocated at the match
//	announced, longer                  allocated by the receiving goroutine without mu; the
//	                                   message is matched and waits (phaseHeld)
//	arena memory                       the arena memory itself
//
// The length that a peer announces is not trusted. If Config.Allocate returns an error, the receive
// ends with a *MemoryError that wraps this error. A length above messageMax is impossible, and the
// engine declares the peer to be down.

const (
	// directMax is the length in bytes of the longest announced message whose memory is allocated
	// at the match.
	directMax = 64 << 10
	// messageMax is the largest length that a peer may announce. Addresses of Go's heap have
	// 48 bits (runtime/malloc.go, heapAddrBits), and addresses of a mapping have no more.
	messageMax = 1 << 48
	// allocateMax bounds the bytes of one allocation if Config.Allocate is nil.
	allocateMax = 1 << 30
)

// allocate is the default of Config.Allocate.
func allocate(n int) ([]byte, error) {
	if n > allocateMax {
		return nil, fmt.Errorf("%d bytes are more than %d", n, allocateMax)
	}
	return make([]byte, n), nil
}

// hold keeps a matched message until the goroutine of its RecvMessage has memory for it.
func (e *Engine) hold(r *Request, g *message) {
	if g.waits {
		g.peer.forget(g) // the peer can no longer cancel its send
	}
	r.held, r.phase = g, phaseHeld
	if w := r.waiter; w != nil {
		e.fire(w)
	}
}

// awaitMessage waits until a RecvMessage has ended. It allocates memory for the message if needed.
func (e *Engine) awaitMessage(ctx context.Context, r *Request) (Message, error) {
	for r.phase != phaseDone {
		if r.phase == phaseHeld {
			e.provide(r)
		} else {
			e.waitRequest(ctx, r)
		}
	}
	m := r.carried()
	var err error
	if m.Status, err = e.free(r); err != nil {
		return Message{}, err
	}
	return m, nil
}

// provide allocates memory for the message that r holds, and starts the transfer of the message.
func (e *Engine) provide(r *Request) {
	g, p := r.held, r.peer
	var b []byte
	var err error
	if uint64(g.length) <= messageMax {
		b, err = e.allocateOutside(g.length)
	} else if e.err == nil && p.down == nil {
		e.offend(p, fmt.Errorf("%w: a message of %d bytes", ErrProtocol, g.length))
	}
	r.held = nil
	switch {
	case e.err != nil:
		e.freeMessage(g)
		e.complete(r, e.err)
	case p.down != nil && g.kind == kindRTS:
		e.freeMessage(g)
		e.complete(r, p.lost(r))
	case err != nil:
		r.err = &MemoryError{Source: p.rank, Tag: int(g.tag), Bytes: g.length, Cause: err}
		e.receive(r, g)
	default:
		r.buf = b
		r.carry(Message{Bytes: b})
		e.receive(r, g)
	}
}

// allocateOutside calls Config.Allocate without the lock.
func (e *Engine) allocateOutside(n int) ([]byte, error) {
	defer e.stepIn(e.stepOut())
	return e.cfg.Allocate(n)
}

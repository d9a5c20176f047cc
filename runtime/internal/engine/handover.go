package engine

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/gorun-hpc/gorun/transport"
)

// Message is a received message together with its memory.
type Message struct {
	// Status describes the message.
	Status Status
	// Bytes is the memory of the message. It is valid until Release.
	Bytes []byte

	e     *Engine
	owner *peer // the rank whose arena contains Bytes; nil if no arena does, and after Release
	key   transport.Key
}

// SendHandover sends buf by transferring the ownership of buf. buf is arena memory of this rank, and
// k is the key by which peers know it. The receiver owns the memory until Config.Release is called.
// If a handover is impossible, the engine owns the memory until it has transferred the bytes, and
// then calls Config.Release itself. If that transfer fails or the peer is lost, the message is lost.
// The message is also lost if the peer is lost after a handover. The call does not wait for the
// receiver. After an error the memory still belongs to the caller. reads reports whether the engine
// may still read buf after the call, until it calls Config.Release.
func (e *Engine) SendHandover(
	ctx context.Context, to Match, t Type, k transport.Key, buf []byte,
) (reads bool, err error) {
	if ctx != nil && ctx.Err() != nil {
		return false, &CancelError{Op: opNames[opSendHandover], Cause: context.Cause(ctx)}
	}
	e.lock()
	defer e.unlock()
	e.token.Called()
	if e.handOverNow(to, t, k, len(buf)) {
		return false, nil
	}
	return e.handOver(ctx, to, t, k, buf)
}

// handOver does the work of SendHandover if the fast path is impossible. mu is held.
func (e *Engine) handOver(
	ctx context.Context, to Match, t Type, k transport.Key, buf []byte,
) (reads bool, err error) {
	r := e.newRequest(opSendHandover, t, key{to.Context, int32(to.Peer), int32(to.Tag)}, buf)
	p, err := e.destination(r, to)
	if err != nil {
		e.complete(r, err)
		_, err = e.free(r)
		return false, err
	}
	if p.tr != nil {
		p.refresh()
	}
	if p.tr != nil && !p.caps.Handover {
		e.complete(r, nil)
		_, _ = e.free(r)
		return e.sendGiven(to, t, k, buf)
	}
	e.note(r)
	h := header{kind: kindHandover, context: to.Context, tag: int32(to.Tag), typ: t}
	if p.tr == nil {
		g := e.newMessage(p, h)
		g.length, g.key, g.local = len(buf), k, buf
		e.offer(g, to.Context)
		e.complete(r, nil)
		_, err = e.free(r)
		return false, err
	}
	e.announce(p, t)
	e.emit(r, h.pack(), e.envelope(envelope{length: uint64(len(buf)), key: k}))
	if r.phase != phaseDone {
		e.waitRequest(ctx, r)
	}
	_, err = e.free(r)
	return false, err
}

// handOverNow is the fast path of SendHandover. The peer must be connected, and no frames to it may
// be queued. handOverNow returns false if the fast path is impossible. mu is held.
func (e *Engine) handOverNow(to Match, t Type, k transport.Key, n int) bool {
	if uint(to.Peer) >= uint(len(e.peers)) || uint(to.Tag) > TagMax {
		return false
	}
	p := e.peers[to.Peer]
	if p == nil || p.eager < 0 || !p.caps.Handover || t >= TypeNamed && !p.announced.has(t) || e.broken[to.Context] != nil {
		return false
	}
	h := header{kind: kindHandover, context: to.Context, tag: int32(to.Tag), typ: t}
	if e.transmit(p, p.current(h.pack()), e.envelope(envelope{length: uint64(n), key: k})) != nil {
		return false
	}
	p.in.told = p.in.limit()
	if ofProgram(to.Context) {
		e.recorder.Moved(e.texts.ops[opSendHandover], to.Context, to.Peer, to.Tag, n)
	}
	return true
}

// RecvMessage receives a message of any length and type together with its memory. If the sender
// handed the message over, the memory belongs to the sender's arena. Otherwise it is new memory of
// this process. The caller has to call Message.Release. The error is a *MemoryError if there is no
// memory; then only this message is lost.
func (e *Engine) RecvMessage(ctx context.Context, from Match) (Message, error) {
	e.lock()
	defer e.unlock()
	r := e.startReceive(opRecvMessage, from, 0, nil)
	e.noteStarted(r)
	return e.awaitMessage(ctx, r)
}

// arriveHandover handles the arrival of a message that is arena memory.
func (e *Engine) arriveHandover(p *peer, h header, payload []byte) error {
	v, err := parseEnvelope(payload)
	if err != nil {
		return err
	}
	k := key{h.context, int32(p.rank), h.tag}
	if en := e.match.receive(k); en != nil {
		en.req.peer = p
		e.takeOver(en.req, h.tag, h.typ, v.key, int(v.length), nil)
		return nil
	}
	g := e.newMessage(p, h)
	g.length, g.key = int(v.length), v.key
	e.keepMessage(g, k)
	return nil
}

// takeOver completes a receive with handed-over memory. A RecvMessage gets the memory itself. Any
// other receive gets a copy of the bytes, and the memory is returned to its owner. If the memory cannot
// be mapped because its owner is lost, the receive ends with the loss. b is the memory if it is in the
// arena of this rank, that is, if the message is from this rank to itself.
func (e *Engine) takeOver(r *Request, tag int32, typ Type, k transport.Key, length int, b []byte) {
	p, err := r.peer, error(nil)
	r.phase = phaseMoving
	if p.tr != nil {
		b, err = p.ep.Map(k, length)
	}
	if err != nil {
		r.status = Status{Source: p.rank, Tag: int(tag), Type: typ}
		e.giveBack(p, k)
		if err = fmt.Errorf("%s: %w", opNames[r.op], err); p.down != nil {
			err = p.lost(r) // a transport does not have to map the memory of a lost peer
		}
		e.complete(r, err)
		return
	}
	if r.op != opRecvMessage {
		e.deliver(r, tag, typ, b)
		e.giveBack(p, k)
		return
	}
	r.status = Status{Source: p.rank, Tag: int(tag), Bytes: length, Type: typ}
	r.carry(Message{Bytes: b, e: e, owner: p, key: k})
	e.complete(r, nil)
}

// giveBack returns handed-over memory to its owner.
func (e *Engine) giveBack(p *peer, k transport.Key) {
	if p.tr == nil {
		if e.cfg.Release != nil {
			e.cfg.Release(p.rank, k.Addr)
		}
		return
	}
	body := e.body[:releaseSize]
	binary.LittleEndian.PutUint64(body, k.Addr)
	e.post(p, header{kind: kindRelease}.pack(), body)
}

// releaseSize is the length of the body of kindRelease: the Addr of the key.
const releaseSize = 8

// arriveRelease handles a frame by which a peer returns memory of this rank.
func (e *Engine) arriveRelease(p *peer, payload []byte) error {
	if len(payload) != releaseSize {
		return fmt.Errorf("%w: release of %d bytes", ErrProtocol, len(payload))
	}
	if e.cfg.Release != nil {
		e.cfg.Release(p.rank, binary.LittleEndian.Uint64(payload))
	}
	return nil
}

// Release returns the memory to its owner. Bytes must not be used afterwards. A second
// call does nothing.
func (m *Message) Release() {
	m.Bytes = nil
	if m.owner == nil {
		return
	}
	e := m.e
	e.lock()
	defer e.unlock()
	if p := m.owner; p != nil {
		m.owner = nil
		e.giveBack(p, m.key)
	}
}

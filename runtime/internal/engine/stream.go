package engine

import (
	"fmt"

	"github.com/gorun-hpc/gorun/transport"
)

// Actor messages are frames for an ActorReceiver. They use neither matching nor the credit of
// messages, but go through the lane, in order with all other frames. A Stream carries actor
// messages to one addressee at a peer and has a credit of its own. So an addressee that takes
// no messages blocks its own streams only.
//
//	sender                                   receiver
//	NewStream            ---- kindActor --->  ActorReceiver.ActorMessage   the first of stream n
//	SendActorMessage(cost)   ---- kindActor --->  ActorReceiver.ActorMessage   takes up to StreamWindow
//	   false: no credit                      Grant(n, limit)  when some are handled
//	ActorReceiver.Credit     <---- kindGrant ----
//	CloseStream          ---- kindClose --->   ActorReceiver.Closed
//
// Only actor receivers interpret the contents of actor messages and the addressees of streams.

// StreamWindow bounds the outstanding cost of a stream in bytes.
const StreamWindow = 256 << 10

// ActorMessage is the part of a frame's header that belongs to actor receivers.
type ActorMessage struct {
	// Stream is the number of the stream at its sender; 0 is no stream.
	Stream uint32
	// Tag is below 1<<31.
	Tag uint32
	// Type and ID may have any value.
	Type, ID uint32
}

// ActorReceiver takes the actor messages of peers. The polling goroutine calls its methods with
// the engine's lock held; they must not call the engine.
type ActorReceiver interface {
	// ActorMessage takes an actor message. body is valid during the call. memory is arena
	// memory that was handed over with it, or nil; the actor receiver owns it.
	ActorMessage(source int, p ActorMessage, body []byte, memory *Message)
	// Credit says that a stream that had no credit has credit again.
	Credit(l *Stream)
	// Refused says that an actor message was dropped: the peer has no actor receiver, and had
	// no space to keep the message or kept it for Config.Early.
	Refused(l *Stream)
	// Closed says that a stream of a peer has ended. It comes after all actor messages of the
	// stream, whose number may then be reused.
	Closed(source int, stream uint32)
	// Lost says that a peer is down. It comes once, after all actor messages of the peer.
	Lost(peer int, cause error)
}

// Stream is the sending end of a stream of actor messages. Its fields belong to the engine.
type Stream struct {
	peer   *peer
	number uint32
	out    outgoing
	wanted bool // an actor message was refused since the last grant
	closed bool
	// Owner belongs to the actor receiver; the engine does not use it.
	Owner any
}

// Rank returns the peer of the stream.
func (l *Stream) Rank() int { return l.peer.rank }

// mail is the state of an engine for actor messages.
type mail struct {
	actorReceiver ActorReceiver
	early         early
	scratch       []byte
	batches       batches
	// serving is the goroutine of Serve, see ErrInline, and server its waiter.
	serving uintptr
	server  *waiter
}

// SetActorReceiver passes the actor messages of all peers to c: first those that have arrived,
// then the losses so far, then all later ones. It is called once.
func (e *Engine) SetActorReceiver(c ActorReceiver) {
	e.lock()
	defer e.unlock()
	e.mail.actorReceiver = c
	for _, p := range e.mail.early.take() {
		if p.closed != 0 {
			e.closed(c, e.peers[p.source], p.closed)
			continue
		}
		c.ActorMessage(p.source, p.actorMessage, p.body, p.memory)
	}
	e.mail.early.stop()
	for _, rank := range e.deaths {
		c.Lost(rank, e.peers[rank].down)
	}
}

// NewStream makes a stream to a peer. Unless first is nil, it sends first with the number of
// the stream, before all other messages of the stream. The error is ErrAddress,
// transport.ErrTooLong, the loss of the peer, or the end of the engine.
func (e *Engine) NewStream(rank int, owner any, first *ActorMessage, body []byte) (*Stream, error) {
	e.lock()
	defer e.unlock()
	p, err := e.to(rank)
	if err != nil {
		return nil, err
	}
	if p.tr == nil && p.down == nil {
		return nil, fmt.Errorf("%w: a stream to this rank itself", ErrAddress)
	}
	l := &Stream{peer: p, out: outgoing{limit: StreamWindow}, Owner: owner}
	if err := e.sendable(l); err != nil {
		return nil, err
	}
	if first != nil && len(body) > p.mostEager() {
		return nil, fmt.Errorf("%w: actor message of %d bytes", transport.ErrTooLong, len(body))
	}
	p.enter(l)
	if first != nil {
		h := first.header()
		h.context = l.number
		e.post(p, h, body)
	}
	return l, nil
}

// Number is the number of the stream, from 1. It is unique until CloseStream.
func (l *Stream) Number() uint32 { return l.number }

// Eager returns the longest actor message to a peer that SendActorMessage takes, head and body
// together.
func (e *Engine) Eager(rank int) int {
	e.lock()
	defer e.unlock()
	p, err := e.to(rank)
	if err != nil || p.ep == nil {
		return 0
	}
	p.refresh()
	return min(p.eagerLimit(), StreamWindow)
}

// SendActorMessage sends head and body, which are copied, through a stream. cost is the credit
// that they take, at most StreamWindow; a cost of 0 needs no credit. It returns false if the
// credit does not suffice; ActorReceiver.Credit follows when the stream has credit again. It
// never blocks. The error is the loss of the peer, the end of the engine, or
// transport.ErrTooLong.
func (e *Engine) SendActorMessage(l *Stream, p ActorMessage, head, body []byte, cost uint32) (bool, error) {
	e.lock()
	defer e.unlock()
	if err := e.sendable(l); err != nil {
		return false, err
	}
	if !l.admits(cost) {
		return false, nil
	}
	if n := len(head) + len(body); l.peer.eager < n && n > l.peer.mostEager() {
		return false, fmt.Errorf("%w: actor message of %d bytes", transport.ErrTooLong, n)
	}
	l.out.sent += cost
	e.token.Called()
	if !l.peer.caps.CostlySend || !e.batch(l.peer, p, head, body) {
		if len(head) > 0 {
			e.mail.scratch = append(append(e.mail.scratch[:0], head...), body...)
			body = e.mail.scratch
		}
		e.post(l.peer, p.header(), body)
	}
	return true, nil
}

// SendActorMemory sends head and gives away arena memory of this rank that peers know as k.
// Config.Release returns it. The error is transport.ErrNotSupported where a handover is
// impossible. After an error and after false, the memory still belongs to the caller.
func (e *Engine) SendActorMemory(l *Stream, p ActorMessage, head []byte, k transport.Key, n int, cost uint32) (bool, error) {
	e.lock()
	defer e.unlock()
	if err := e.sendable(l); err != nil {
		return false, err
	}
	l.peer.refresh()
	if !l.peer.caps.Handover {
		return false, transport.ErrNotSupported
	}
	if !l.admits(cost) {
		return false, nil
	}
	var body [envelopeSize]byte
	envelope{length: uint64(n), key: k}.put(&body)
	e.mail.scratch = append(append(e.mail.scratch[:0], body[:]...), head...)
	if len(e.mail.scratch) > l.peer.mostEager() {
		return false, fmt.Errorf("%w: actor message with a head of %d bytes", transport.ErrTooLong, len(head))
	}
	h := p.header()
	h.flags = flagKey
	l.out.sent += cost
	e.token.Called()
	e.post(l.peer, h, e.mail.scratch)
	return true, nil
}

// Grant sends a new limit to the sender of a stream: the cumulative cost of the messages that
// were taken, plus StreamWindow. It does nothing if closed is true, which the actor receiver
// sets in ActorReceiver.Closed.
func (e *Engine) Grant(rank int, stream, limit uint32, closed *bool) {
	e.lock()
	defer e.unlock()
	if *closed {
		return // another stream may have its number by now
	}
	if p, err := e.to(rank); err == nil && p.tr != nil && p.down == nil && e.err == nil {
		e.post(p, header{kind: kindGrant, context: stream, id: limit}, nil)
	}
}

// Down returns the error of sends to a rank that is down, or nil.
func (e *Engine) Down(rank int) error {
	e.lock()
	defer e.unlock()
	p, err := e.to(rank)
	if err != nil {
		return err
	}
	return p.down
}

// sendable returns the error of sends through l, or nil.
func (e *Engine) sendable(l *Stream) error {
	if e.err != nil {
		return e.err
	}
	if l.peer.down != nil {
		return l.peer.lostIn("tell")
	}
	if l.closed {
		return ErrStreamClosed
	}
	return nil
}

// admits reports whether the credit suffices, and records if it does not. A stream without
// outstanding messages admits any message.
func (l *Stream) admits(cost uint32) bool {
	if cost == 0 || l.out.fits(cost) || l.out.limit-l.out.sent == StreamWindow {
		return true
	}
	l.wanted = true
	return false
}

// Settled reports whether all credit that was spent on l was returned, or l has ended.
// Otherwise spent is the total, mod 2^32, and ActorReceiver.Credit follows the next grant.
func (e *Engine) Settled(l *Stream) (spent uint32, settled bool) {
	e.lock()
	defer e.unlock()
	settled = e.sendable(l) != nil || l.out.limit-l.out.sent == StreamWindow
	if !settled {
		l.wanted = true
	}
	return l.out.sent, settled
}

// mostEager is the longest frame of a peer, even if another protocol is faster for it.
func (p *peer) mostEager() int {
	p.refresh()
	return p.caps.MaxEager
}

// header is the header of the actor message's frame.
func (p ActorMessage) header() header {
	return header{kind: kindActor, context: p.Stream, tag: int32(p.Tag), typ: Type(p.Type), id: p.ID}
}

// arriveActorMessage passes an actor message to the actor receiver.
func (e *Engine) arriveActorMessage(p *peer, h header, body []byte) error {
	actorMessage := ActorMessage{Stream: h.context, Tag: uint32(h.tag), Type: uint32(h.typ), ID: h.id}
	var memory *Message
	if h.flags&flagKey != 0 {
		if len(body) < envelopeSize {
			return fmt.Errorf("%w: actor message with memory of %d bytes", ErrProtocol, len(body))
		}
		v, err := parseEnvelope(body[:envelopeSize])
		if err != nil {
			return err
		}
		b, err := p.ep.Map(v.key, int(v.length))
		if err != nil {
			return fmt.Errorf("memory of an actor message: %w", err)
		}
		body = body[envelopeSize:]
		memory = &Message{Bytes: b, e: e, owner: p, key: v.key}
		memory.Status = Status{Source: p.rank, Bytes: len(b), Handover: true}
	}
	e.takeMessage(p, actorMessage, body, memory)
	e.callServer()
	return nil
}

// arriveGrant raises the credit of a stream.
func (e *Engine) arriveGrant(p *peer, h header) error {
	l := p.stream(h.context)
	if l == nil || int32(h.id-l.out.sent-StreamWindow) > 0 {
		return stray("credit", h.context)
	}
	l.out.raise(h.id)
	if l.wanted {
		l.wanted = false
		e.mail.actorReceiver.Credit(l)
		e.callServer()
		e.credited(l)
	}
	return nil
}

// stream returns the stream of a number, or nil.
func (p *peer) stream(number uint32) *Stream {
	if number == 0 || number > uint32(len(p.links)) {
		return nil
	}
	return p.links[number-1]
}

// Over reports whether the operation of h is finished. It is for the function ready of Serve,
// which is called with the engine's lock held.
func (h Handle) Over() bool {
	r := h.pending()
	return r == nil || r.phase == phaseDone
}

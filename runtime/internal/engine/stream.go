package engine

import (
	"fmt"

	"github.com/gorun-hpc/gorun/transport"
)

// Actor messages are frames for an ActorReceiver. They are not matched and do not consume the
// credit of messages, but they go through the lane, in order with all other frames. A Stream
// carries actor messages to one addressee at a peer and has a credit of its own. So an addressee
// that does not handle its messages blocks only its own streams.
//
//	sender                                        receiver
//	NewStream                ---- kindActor ---> ActorReceiver.ActorMessage  the first one of stream n
//	SendActorMessage(cost)   ---- kindActor ---> ActorReceiver.ActorMessage  keeps up to StreamWindow bytes
//	   returns false without credit
//	ActorReceiver.Credit     <--- kindGrant ---- Grant(n, limit)             after it has handled some
//	CloseStream              ---- kindClose ---> ActorReceiver.Closed
//
// The engine does not interpret the contents of actor messages or the addressees of streams. Only
// actor receivers do.

// StreamWindow is the window of a stream in bytes: the largest total cost of messages for which the
// receiver has not yet returned the credit by Grant.
const StreamWindow = 256 << 10

// RefusedMax is the largest length in bytes of the part of a dropped actor message that its sender gets back
// (ActorReceiver.Refused).
const RefusedMax = 512

// ActorMessage holds the fields of a frame's header that an actor message may use.
type ActorMessage struct {
	// Stream is the number of the stream at its sender, or 0 for a message without a stream.
	Stream uint32
	// Tag is below 1<<31.
	Tag uint32
	// Type and ID may have any value.
	Type, ID uint32
}

// ActorReceiver receives the actor messages of all peers. Its methods are called with the engine's lock
// held, mostly by the goroutine that polls, so they must not call the engine.
type ActorReceiver interface {
	// ActorMessage is called for each actor message that arrives. body is valid during the call.
	// memory is arena memory that was handed over with the message, or nil. The actor receiver
	// owns memory and has to release it.
	ActorMessage(source int, p ActorMessage, body []byte, memory *Message)
	// Credit is called at the next grant to a stream after a message was not sent for lack of credit, or
	// after Settled has reported the stream as unsettled.
	Credit(l *Stream)
	// Refused is called when the peer has dropped an actor message of the stream. Either the peer's actor receiver was
	// not set within the peer's Config.Early, or the peer had no space for messages before it was set. After a dropped
	// message, the peer drops all later messages of the stream. p is the
	// dropped message. body contains its first bytes, at most RefusedMax, and is valid during the call.
	Refused(l *Stream, p ActorMessage, body []byte)
	// Closed is called when a stream of a peer has ended, after all actor messages of the stream.
	// The peer may reuse the number of the stream afterwards.
	Closed(source int, stream uint32)
	// Lost is called once for each peer that is down, after all actor messages of the peer. A peer to which no
	// transport leads is down from the time when it is first addressed.
	Lost(peer int, cause error)
}

// Stream is the sending end of a stream of actor messages. Its fields except Owner belong to the engine.
type Stream struct {
	peer   *peer
	number uint32
	out    outgoing
	wanted bool // call ActorReceiver.Credit after the next grant
	closed bool
	// Owner belongs to the actor receiver; the engine does not use it.
	Owner any
}

// mail is the part of an engine that concerns actor messages.
type mail struct {
	actorReceiver ActorReceiver
	early         early
	scratch       []byte
	batches       batches
	// serving identifies the serving goroutine, or is 0 (see ErrInline). server is the waiter of
	// that goroutine. server is kept between a call of Serve that ends with Leave and the next call
	// of Serve.
	serving uintptr
	server  *waiter
}

// SetActorReceiver makes c the actor receiver of this rank. c first gets the actor messages and the
// ends of streams that have arrived already. Then it gets the losses of peers that are down already,
// and then everything that follows. SetActorReceiver is called at most once.
func (e *Engine) SetActorReceiver(c ActorReceiver) {
	e.lock()
	defer e.unlock()
	y := &e.mail.early
	for _, p := range y.take() {
		if p.closed != 0 {
			e.closed(c, e.peers[p.source], p.closed)
			continue
		}
		c.ActorMessage(p.source, p.actorMessage, p.body, p.memory)
		if k := (streamKey{p.source, p.actorMessage.Stream}); y.has(k) {
			y.refused[k] = true
		}
	}
	if len(y.refused) > 0 {
		c = &lateReceiver{c, e}
	}
	e.mail.actorReceiver = c
	y.stop()
	for _, p := range e.peers {
		if p != nil && p.down != nil {
			c.Lost(p.rank, p.down)
		}
	}
}

// NewStream opens a stream to a peer. If the argument first is not nil, it has the header fields of the
// first message of the stream, and NewStream sends this message with body. The message carries the
// number of the stream and needs no credit. The error is ErrAddress (also for this rank itself),
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
		named := *first
		named.Stream = l.number
		e.post(p, named.words(0), body)
	}
	return l, nil
}

// Number returns the number of the stream, from 1. No other stream to the same peer has that
// number until CloseStream.
func (l *Stream) Number() uint32 { return l.number }

// Eager returns the length in bytes up to which a single frame is the fastest way to send an actor
// message to a peer. The length is that of head and body together. The result is at most
// StreamWindow. SendActorMessage also takes longer messages, up to Caps.MaxEager. Eager returns 0
// if no transport reaches the rank.
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

// SendActorMessage sends head and body as one message through a stream. Both are copied. cost is the
// credit in bytes that the message consumes, at most StreamWindow. A message of cost 0 needs no
// credit. If the credit does not suffice, SendActorMessage returns false, and a call of
// ActorReceiver.Credit follows the next grant. SendActorMessage never blocks. The error is
// ErrStreamClosed, the loss of the peer, the end of the engine, or transport.ErrTooLong.
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
		e.post(l.peer, p.words(0), body)
	}
	return true, nil
}

// Givable returns the error with which every SendActorMemory through l would fail now, or nil. The error is
// transport.ErrNotSupported if a handover to the peer is impossible.
func (e *Engine) Givable(l *Stream) error {
	e.lock()
	defer e.unlock()
	return e.givable(l)
}

// givable does the work of Givable. mu is held.
func (e *Engine) givable(l *Stream) error {
	if err := e.sendable(l); err != nil {
		return err
	}
	l.peer.refresh()
	if !l.peer.caps.Handover {
		return transport.ErrNotSupported
	}
	return nil
}

// SendActorMemory sends head and hands over n bytes of arena memory of this rank, whose key is k,
// through a stream. The receiver owns the memory until Config.Release is called at this rank. cost
// and the results are as in SendActorMessage. The error may also be transport.ErrNotSupported, if
// a handover to the peer is impossible. After an error or false, the memory still belongs to the
// caller.
func (e *Engine) SendActorMemory(l *Stream, p ActorMessage, head []byte, k transport.Key, n int, cost uint32) (bool, error) {
	e.lock()
	defer e.unlock()
	if err := e.givable(l); err != nil {
		return false, err
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
	l.out.sent += cost
	e.token.Called()
	e.post(l.peer, p.words(flagKey), e.mail.scratch)
	return true, nil
}

// Grant returns credit to the sender of a stream. limit is the total cost, mod 2^32, of the
// messages of the stream that the receiver has handled, plus StreamWindow. Grant does nothing if
// *closed is true. The actor receiver sets *closed in ActorReceiver.Closed.
func (e *Engine) Grant(rank int, stream, limit uint32, closed *bool) {
	e.lock()
	defer e.unlock()
	if *closed {
		return // the peer may use the number for another stream by now
	}
	if p, err := e.to(rank); err == nil && p.tr != nil && p.down == nil && e.err == nil {
		e.post(p, header{kind: kindGrant, context: stream, id: limit}.pack(), nil)
	}
}

// Down returns the reason why a rank is down or cannot be reached, or nil.
func (e *Engine) Down(rank int) error {
	e.lock()
	defer e.unlock()
	p, err := e.to(rank)
	if err != nil {
		return err
	}
	return p.down
}

// sendable returns the error with which every send through l would fail now, or nil.
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

// admits reports whether the credit of the stream suffices for a message of that cost. If it does
// not, admits sets wanted. A stream whose receiver has returned all credit admits any message.
func (l *Stream) admits(cost uint32) bool {
	if cost == 0 || l.out.fits(cost) || l.out.limit-l.out.sent == StreamWindow {
		return true
	}
	l.wanted = true
	return false
}

// Settled reports settled = true if the receiver has returned all credit that the messages of l
// consumed. It reports the same if l is closed, its peer is down or the engine has ended. If settled
// is false, a call of ActorReceiver.Credit follows the next grant. spent is the total cost of the
// messages sent so far, mod 2^32.
func (e *Engine) Settled(l *Stream) (spent uint32, settled bool) {
	e.lock()
	defer e.unlock()
	settled = e.sendable(l) != nil || l.out.limit-l.out.sent == StreamWindow
	if !settled {
		l.wanted = true
	}
	return l.out.sent, settled
}

// mostEager returns the largest length in bytes of the body of a frame to a peer. Another protocol
// may be faster even for shorter bodies.
func (p *peer) mostEager() int {
	p.refresh()
	return p.caps.MaxEager
}

// words returns the header of the frame of an actor message. Its field limit is 0.
func (p ActorMessage) words(flags uint8) transport.Header {
	return words(kindActor, flags, p.Stream, int32(p.Tag), Type(p.Type), p.ID, 0)
}

// actorMessage is the inverse of ActorMessage.words.
func (h header) actorMessage() ActorMessage {
	return ActorMessage{Stream: h.context, Tag: uint32(h.tag), Type: uint32(h.typ), ID: h.id}
}

// arriveActorMessage handles the frame of an actor message. If memory was handed over with the
// message, it maps the memory. Then it passes the message to the actor receiver.
func (e *Engine) arriveActorMessage(p *peer, h header, body []byte) error {
	actorMessage := h.actorMessage()
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
		memory.Status = Status{Source: p.rank, Bytes: len(b)}
	}
	e.takeMessage(p, actorMessage, body, memory)
	e.callServer()
	return nil
}

// arriveGrant handles a grant: it raises the limit of a stream.
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

// stream returns the stream to p with a number, or nil.
func (p *peer) stream(number uint32) *Stream {
	if number == 0 || number > uint32(len(p.links)) {
		return nil
	}
	return p.links[number-1]
}

// Over reports whether the operation of h is finished. The caller holds the engine's lock: Over is
// for the functions ready and arrived of Serve.
func (h Handle) Over() bool {
	r := h.pending()
	return r == nil || r.phase == phaseDone
}

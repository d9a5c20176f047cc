package engine

import (
	"slices"
	"time"
)

const (
	// earlyMax bounds the bytes of the actor messages that wait for the ActorReceiver of this rank,
	// from all peers together.
	earlyMax = 4 << 20
	// defaultEarly is used for a Config.Early of 0 or less.
	defaultEarly = 30 * time.Second
	// refusedMax bounds the length of early.refused.
	refusedMax = 1 << 16
)

// earlyMessage waits for the ActorReceiver: an actor message, or the end of a stream.
type earlyMessage struct {
	source       int
	closed       uint32 // the number of the stream that has ended, or 0
	actorMessage ActorMessage
	body         []byte
	memory       *Message
}

// early holds what has arrived for the ActorReceiver of this rank before the receiver was set.
type early struct {
	actorMessages []earlyMessage
	bytes         int
	// full is true after a message was refused for lack of space. Later messages are then refused, too, although
	// they may be shorter: what is kept has no gaps.
	full bool
	// patience is the timer that ends the wait for the actor receiver after Config.Early. hopeless
	// reports whether the timer has ended the wait.
	patience *time.Timer
	hopeless bool
	// refused holds the streams of which a message was refused, until their ends arrive. The value is true if the
	// ActorReceiver has got earlier messages of the stream.
	refused map[streamKey]bool
}

// streamKey identifies a stream of a peer.
type streamKey struct {
	source int
	number uint32
}

// keep stores an actor message or the end of a stream. cost is its share of earlyMax, in bytes.
func (y *early) keep(p earlyMessage, cost int) {
	y.actorMessages, y.bytes = append(y.actorMessages, p), y.bytes+cost
}

// keeps reports whether messages of a stream are kept and no end of the stream is kept after them.
func (y *early) keeps(k streamKey) bool {
	for _, p := range slices.Backward(y.actorMessages) {
		if p.source == k.source && (p.closed == k.number || p.closed == 0 && p.actorMessage.Stream == k.number) {
			return p.closed == 0
		}
	}
	return false
}

// refuse records that a message of a stream was refused.
func (y *early) refuse(k streamKey) {
	if y.refused == nil {
		y.refused = make(map[streamKey]bool)
	}
	if !y.has(k) && len(y.refused) < refusedMax {
		y.refused[k] = false
	}
}

// has reports whether refuse has recorded the stream and the end of the stream has not arrived. refuse records at most
// refusedMax streams.
func (y *early) has(k streamKey) bool {
	_, refused := y.refused[k]
	return refused
}

// take removes and returns everything that was kept.
func (y *early) take() []earlyMessage {
	all := y.actorMessages
	y.actorMessages, y.bytes = nil, 0
	return all
}

// stop stops the timer patience. A timer function that is already running finds that the actor
// receiver is set or that the engine has ended, and does nothing.
func (y *early) stop() {
	if y.patience != nil {
		y.patience.Stop()
	}
}

// takeMessage passes an actor message to the actor receiver. Before the actor receiver is set, it
// keeps the message for at most Config.Early. If there is no space, or if the timer patience has
// ended the wait, it refuses the message.
func (e *Engine) takeMessage(p *peer, w ActorMessage, body []byte, memory *Message) {
	if c := e.mail.actorReceiver; c != nil {
		c.ActorMessage(p.rank, w, body, memory)
		return
	}
	cost := len(body) + messageOverhead
	y := &e.mail.early
	if y.full = y.full || y.bytes+cost > earlyMax; y.full || y.hopeless {
		e.refuse(p, w, body, memory)
		return
	}
	if y.patience == nil {
		y.patience = time.AfterFunc(e.cfg.Early, e.despair)
	}
	y.keep(earlyMessage{source: p.rank, actorMessage: w, body: append([]byte(nil), body...), memory: memory}, cost)
}

// refuse drops an actor message and returns its arena memory. If the message came through a stream, refuse
// sends the header words and the first bytes of the message back to the sender.
func (e *Engine) refuse(p *peer, w ActorMessage, body []byte, memory *Message) {
	if memory != nil {
		e.giveBack(p, memory.key)
	}
	if w.Stream != 0 {
		n := min(len(body), RefusedMax, p.mostEager())
		e.mail.early.refuse(streamKey{p.rank, w.Stream})
		e.post(p, words(kindRefuse, 0, w.Stream, int32(w.Tag), Type(w.Type), w.ID, 0), body[:n])
	}
}

// despair refuses the messages that wait for the actor receiver, and all later messages until the
// receiver is set.
func (e *Engine) despair() {
	e.lock()
	defer e.unlock()
	if e.mail.actorReceiver != nil || e.err != nil {
		return
	}
	e.mail.early.hopeless = true
	for _, p := range e.mail.early.take() {
		switch from := e.peers[p.source]; {
		case from.down != nil:
		case p.closed != 0:
			e.post(from, header{kind: kindClosed, context: p.closed}.pack(), nil)
		default:
			e.refuse(from, p.actorMessage, p.body, p.memory)
		}
	}
}

// arriveRefuse tells the actor receiver that the peer dropped an actor message, see
// ActorReceiver.Refused.
func (e *Engine) arriveRefuse(p *peer, h header, body []byte) error {
	l := p.stream(h.context)
	if l == nil {
		return stray("refusal", h.context)
	}
	e.mail.actorReceiver.Refused(l, h.actorMessage(), body)
	e.callServer()
	return nil
}

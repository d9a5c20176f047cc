package engine

import (
	"fmt"

	"github.com/gorun-hpc/gorun/transport"
)

// arrivals is the Engine as the transport.Handler that transports call in Poll. The polling
// goroutine holds mu during these calls.
type arrivals Engine

var _ transport.Handler = (*arrivals)(nil)

// eagerWord is the lower half of word A in the header of an eager message without flags.
const eagerWord = uint32(kindEager)

// actorWord is the lower half of word A in the header of an actor message without flags, that is,
// without arena memory.
const actorWord = uint32(kindActor)

// Arrive handles one frame. If the frame violates the protocol, the engine declares the peer that sent
// it to be down; operations with other peers continue.
func (a *arrivals) Arrive(rank int, w transport.Header, payload []byte) {
	e := (*Engine)(a)
	if uint(rank) >= uint(len(e.peers)) {
		return
	}
	p := e.peers[rank]
	if p == nil {
		p = e.meet(rank)
	}
	if p.ignored {
		return
	}
	p.answered = true
	var err error
	switch limit := uint32(w.C >> 32); {
	case limit != p.out.limit && !p.out.raise(limit):
		err = fmt.Errorf("%w: credit of %d bytes", ErrProtocol, limit-p.out.sent)
	case uint32(w.A) == eagerWord && int32(uint32(w.B)) >= 0:
		h := header{kind: kindEager, context: uint32(w.A >> 32), tag: int32(uint32(w.B)), typ: Type(w.B >> 32)}
		err = e.arriveEager(p, h, payload)
	case uint32(w.A) == actorWord && int32(uint32(w.B)) >= 0 && e.mail.actorReceiver != nil:
		e.mail.actorReceiver.ActorMessage(rank, ActorMessage{uint32(w.A >> 32), uint32(w.B), uint32(w.B >> 32), uint32(w.C)}, payload, nil)
		e.callServer()
	default:
		err = e.arriveOther(p, w, payload)
	}
	if err != nil {
		e.offend(p, err)
	}
}

// arriveOther handles the frames for which Arrive has no fast path.
func (e *Engine) arriveOther(p *peer, w transport.Header, payload []byte) error {
	h, err := parseHeader(w)
	if err != nil {
		return err
	}
	switch h.kind {
	case kindEager:
		return e.arriveEager(p, h, payload)
	case kindRTS:
		return e.arriveRTS(p, h, payload)
	case kindHandover:
		return e.arriveHandover(p, h, payload)
	case kindCTS:
		return e.arriveCTS(p, h, payload)
	case kindData:
		return e.arriveData(p, h.id, w.B, payload)
	case kindFIN:
		return e.arriveFIN(p, h.id)
	case kindACK:
		return e.arriveACK(p, h.id)
	case kindCredit:
		return nil
	case kindTypedef:
		return p.types.add(h.typ, payload)
	case kindWithdraw:
		e.arriveWithdraw(p, h.id)
		return nil
	case kindWithdrawn:
		return e.arriveWithdrawn(p, h.id)
	case kindNotice:
		return e.arriveNotice(p, h.tag, payload)
	case kindRelease:
		return e.arriveRelease(p, payload)
	case kindActor:
		return e.arriveActorMessage(p, h, payload)
	case kindBatch:
		return e.arriveBatch(p, payload)
	case kindGrant:
		return e.arriveGrant(p, h)
	case kindRefuse:
		return e.arriveRefuse(p, h, payload)
	case kindClose:
		e.arriveClose(p, h.context)
		return nil
	case kindClosed:
		return e.arriveClosed(p, h.context)
	default:
		return fmt.Errorf("%w: frame of kind %d", ErrProtocol, h.kind)
	}
}

// stray returns the error for a frame whose operation or stream does not exist or does not expect the frame.
func stray(what string, id uint32) error {
	return fmt.Errorf("%w: %s for operation %#x", ErrProtocol, what, id)
}

// arriveEager handles a message that arrives with its bytes.
func (e *Engine) arriveEager(p *peer, h header, payload []byte) error {
	cost := eagerCost(len(payload))
	if !p.in.admit(cost) {
		return fmt.Errorf("%w: %d bytes beyond its credit", ErrProtocol, p.in.arrived-p.in.returned-p.in.window)
	}
	k := key{h.context, int32(p.rank), h.tag}
	if en := e.match.receive(k); en != nil {
		r := en.req
		r.peer = p
		e.deliver(r, h.tag, h.typ, payload)
		if h.flags&flagSync != 0 {
			e.post(p, header{kind: kindACK, id: h.id}.pack(), nil)
		}
		e.repay(p, cost)
		return nil
	}
	g := e.newMessage(p, h)
	g.length, g.cost = len(payload), cost
	g.data = e.spare.get(len(payload))
	e.recorder.Unexpected(len(payload))
	copy(g.data, payload)
	if h.flags&flagSync != 0 {
		p.await(g)
	}
	e.keepMessage(g, k)
	return nil
}

// arriveRTS handles the announcement of a message whose bytes are still at the sender.
func (e *Engine) arriveRTS(p *peer, h header, payload []byte) error {
	v, err := parseEnvelope(payload)
	if err != nil {
		return err
	}
	if h.flags&flagStarved != 0 {
		e.budget.widen(&p.in)
	}
	g := e.newMessage(p, h)
	g.length, g.key = int(v.length), v.key
	e.offer(g, h.context)
	return nil
}

// offer passes a message to the posted receive that matches it, or keeps it as unexpected.
func (e *Engine) offer(g *message, context uint32) {
	k := key{context, int32(g.peer.rank), g.tag}
	if en := e.match.receive(k); en != nil {
		e.accept(en.req, g)
		return
	}
	if g.kind != kindHandover {
		g.peer.await(g)
	}
	e.keepMessage(g, k)
}

// keepMessage stores a message as unexpected and ends the probes that wait for it. It drops a
// message of a closed context (CloseContexts), because no receive can match it. If the sender waits
// for the match, the method drop tells the sender.
func (e *Engine) keepMessage(g *message, k key) {
	if k.context >= e.barred && e.over[k.context] {
		e.drop(g)
		return
	}
	e.match.add(g, k)
	for _, w := range e.probing {
		if !w.fired && k.as(shapeOf(w.from)) == w.from {
			e.fire(w)
		}
	}
}

// arriveACK completes a synchronous eager send.
func (e *Engine) arriveACK(p *peer, id uint32) error {
	r := e.operations.find(id)
	if r == nil || r.peer != p || r.op != opSync || r.phase != phaseAnnounced {
		return stray("ACK", id)
	}
	e.complete(r, nil)
	return nil
}

// Completed handles the completion of a Get or a Put.
func (a *arrivals) Completed(rank int, token, _ uint64, err error) {
	(*Engine)(a).moved(rank, uint32(token), err)
}

// Down handles the loss of a peer.
func (a *arrivals) Down(down *transport.PeerDown) {
	e := (*Engine)(a)
	if p, err := e.to(down.Peer); err == nil && p.tr != nil {
		e.lose(p, down.Cause)
	}
}

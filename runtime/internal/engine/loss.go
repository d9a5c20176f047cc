package engine

import "github.com/gorun-hpc/gorun/transport"

// lost returns the error of an operation whose peer p is down.
func (p *peer) lost(r *Request) error { return p.lostIn(opNames[r.op]) }

// lostIn returns the same error as the method lost, for an operation without a request.
func (p *peer) lostIn(op string) error { return &PeerError{Rank: p.rank, Op: op, Cause: p.down} }

// lose ends all operations with a peer. An operation with Gets or Puts in flight ends when they have
// completed. Messages of the peer that arrived completely can still be received. Announced messages whose
// bytes were still at the peer are lost. So are messages that the peer handed over, unless they were
// received before or the transport still maps their memory.
//
// A receive or probe from AnySource in a context of the peer ends with a *PeerError if it finds no message and the
// loss is not acknowledged in this context (see Acknowledge). lose ends the receives and probes that wait already.
func (e *Engine) lose(p *peer, cause error) {
	if p.down != nil {
		return
	}
	p.down, p.eager = &transport.PeerDown{Peer: p.rank, Cause: cause}, -1
	p.ignored, p.batch = true, nil
	p.in.told, p.in.window = p.in.arrived-p.in.window, 0
	e.budget.regain(&p.in)
	p.reads.empty()
	p.feeds.empty()
	for f := p.pending.head; f != nil; f = p.pending.head {
		if p.pending.head = f.next; f.req != nil {
			e.complete(f.req, p.lost(f.req))
		}
		e.freeFrame(f)
	}
	p.pending.tail = nil
	for i := range e.operations.slots {
		if r := e.operations.slots[i].req; r != nil && r.peer == p && r.move.flight == 0 {
			e.complete(r, p.lost(r))
		}
	}
	e.dropEnvelopes(p)
	e.deaths = append(e.deaths, p.rank)
	e.failPosted(p)
	if e.cfg.Lost != nil {
		e.cfg.Lost(p.rank, cause)
		p.reclaimed = true
	}
	if c := e.mail.actorReceiver; c != nil {
		c.Lost(p.rank, p.down)
		e.callServer()
	}
	for _, l := range p.links {
		if l != nil {
			e.credited(l)
		}
	}
}

// dropEnvelopes drops the messages that a lost sender has announced without their bytes.
func (e *Engine) dropEnvelopes(p *peer) {
	for g := p.envelopes; g != nil; {
		after := g.after
		if g.kind == kindRTS {
			e.match.take(g)
			e.freeMessage(g)
		}
		g = after
	}
}

// failPosted ends the receives and probes that wait for p. It also ends the receives and probes from
// AnySource in the contexts of p in which the loss of p is not acknowledged.
func (e *Engine) failPosted(p *peer) {
	var named, wild []*entry
	e.match.eachPosted(func(en *entry) {
		switch en.source {
		case int32(p.rank):
			named = append(named, en)
		case AnySource:
			wild = append(wild, en)
		}
	})
	sortBySeq(wild)
	for _, en := range named {
		e.match.unpost(en)
		e.complete(en.req, p.lost(en.req))
	}
	for _, en := range wild {
		if err := e.knownLoss(en.key, opNames[en.req.op]); err != nil {
			e.match.unpost(en)
			e.complete(en.req, err)
		}
	}
	for _, w := range e.probing {
		if w.err == nil && !w.fired {
			if w.err = e.knownLoss(w.from, w.what); w.err != nil {
				e.rouse(w)
			}
		}
	}
}

// knownLoss returns the error of a receive or a probe that found no message. The error is the loss
// of its source. For AnySource, it is the first loss of a member that is not acknowledged in this context.
// knownLoss returns nil if there is no such loss.
func (e *Engine) knownLoss(k key, op string) error {
	if k.source >= 0 {
		if p := e.peers[k.source]; p.down != nil {
			return p.lostIn(op)
		}
		return nil
	}
	if len(e.deaths) == 0 {
		return nil
	}
	a := e.ackedIn(k.context)
	for ; a.passed < len(e.deaths); a.passed++ {
		rank := e.deaths[a.passed]
		if !a.ranks[rank] && (e.cfg.Member == nil || e.cfg.Member(k.context, rank)) {
			return e.peers[rank].lostIn(op)
		}
	}
	return nil
}

// fail ends every present and later operation with err. A request whose bytes a transport is still
// moving ends when its last Get or Put completes.
func (e *Engine) fail(err error) {
	if e.err != nil {
		return
	}
	e.err = err
	for _, p := range e.peers {
		if p != nil {
			e.failPeer(p, err)
		}
	}
	for i := range e.operations.slots {
		if r := e.operations.slots[i].req; r != nil && r.move.flight == 0 {
			e.complete(r, err)
		}
	}
	e.match.eachPosted(func(en *entry) {
		e.match.unpost(en)
		e.complete(en.req, err)
	})
	e.token.Fail()
	for w := e.blocked.head; w != nil; w = w.next {
		if w.req == nil && !w.fired {
			w.err = err // so that done is not called when the goroutine goes on, which may be after Close
		}
		e.rouse(w)
	}
}

// failPeer empties the queues of a peer. It keeps the frames that belong to no request of this rank,
// because they may end operations of the peer.
func (e *Engine) failPeer(p *peer, err error) {
	p.eager, p.ignored = -1, true
	p.reads.empty()
	p.feeds.empty()
	all := p.pending.head
	p.pending = frames{}
	for f := all; f != nil; {
		next := f.next
		if f.next = nil; f.req != nil {
			e.complete(f.req, err)
			e.freeFrame(f)
		} else {
			e.keep(p, f)
		}
		f = next
	}
}

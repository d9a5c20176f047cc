package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/transport"
)

// peer is the state of an engine for one rank, its own included. It is created at the first
// contact.
type peer struct {
	rank int
	tr   transport.Transport // nil: this rank itself, or no transport reaches it
	ep   transport.Endpoint
	caps transport.Caps

	// eager is the largest message of Isend's and Send's fast path: -1 while the
	// peer is down or not connected or frames are pending.
	eager     int
	connected bool // a Send was accepted: caps are final
	down      error
	ignored   bool // its frames are dropped: it is down, or the engine has failed
	reclaimed bool // it is down, and the memory handed over to it was reclaimed

	out outgoing
	in  incoming

	pending   frames    // refused by the lane, in order
	feeds     requests  // sends whose bytes go through the lane, in order of CTS
	reads     requests  // rendezvous with bytes still to get or put
	moving    int       // Gets and Puts under way
	listed    bool      // is in Engine.backlog
	envelopes *message  // unexpected messages that their sender may withdraw
	announced typeSet   // types whose text was sent to this peer
	types     typeTexts // texts this peer has sent
	links     []*Stream // by number - 1
	unused    []uint32  // free numbers in links

	batch    []byte        // actor messages that will share a frame
	batching bool          // it is in batches.open
	answered bool          // the peer has sent a frame since the last actor message that went at once
	alone    time.Duration // when that message was sent, from batches.base
}

// requests is a queue of requests, linked by their next.
type requests struct{ head, tail *Request }

// push appends r.
func (q *requests) push(r *Request) {
	r.next = nil
	if q.tail == nil {
		q.head = r
	} else {
		q.tail.next = r
	}
	q.tail = r
}

// pop takes the first out.
func (q *requests) pop() {
	r := q.head
	if q.head = r.next; q.head == nil {
		q.tail = nil
	}
	r.next = nil
}

// remove takes r out, if it is in.
func (q *requests) remove(r *Request) {
	var before *Request
	for x := q.head; x != nil; before, x = x, x.next {
		if x != r {
			continue
		}
		if before == nil {
			q.head = r.next
		} else {
			before.next = r.next
		}
		if q.tail == r {
			q.tail = before
		}
		r.next = nil
		return
	}
}

// to returns the record of a rank. The error is ErrAddress, or says that no transport reaches
// the rank.
func (e *Engine) to(rank int) (*peer, error) {
	if uint(rank) >= uint(len(e.peers)) {
		return nil, fmt.Errorf("%w: rank %d of %d", ErrAddress, rank, len(e.peers))
	}
	p := e.peers[rank]
	if p == nil {
		p = e.meet(rank)
	}
	return p, nil
}

// meet creates the record of a rank.
func (e *Engine) meet(rank int) *peer {
	p := &peer{rank: rank, eager: -1}
	e.peers[rank] = p
	p.out.limit, p.in.window, p.in.told = e.window, e.window, e.window
	if rank == e.cfg.Rank {
		p.ignored = true
		return p
	}
	if e.cfg.Route != nil {
		p.tr = e.cfg.Route(rank)
	}
	if p.tr == nil {
		p.down = fmt.Errorf("%w: no transport leads to rank %d", transport.ErrNotSupported, rank)
	} else if ep, err := p.tr.Endpoint(rank); err != nil {
		p.down = err
	} else {
		p.ep = ep
	}
	p.ignored = p.down != nil || e.err != nil
	return p
}

// refresh reads the capabilities, which are final once the peer is connected.
func (p *peer) refresh() {
	if !p.connected {
		p.caps = p.ep.Caps()
	}
}

// eagerLimit is the longest message that travels with its bytes.
func (p *peer) eagerLimit() int {
	if p.caps.Get || p.caps.Put {
		return min(p.caps.EagerBest, p.caps.MaxEager)
	}
	return p.caps.MaxEager
}

// long reports whether a message of n bytes travels without them, by rendezvous.
func (p *peer) long(n int) bool {
	if n <= p.eagerLimit() {
		return false
	}
	quieter, ok := p.ep.(transport.Quieter)
	return !ok || n > min(p.caps.EagerAlone, p.caps.MaxEager) || !quieter.Quiet()
}

// open sets the bound of the fast path if that is possible.
func (p *peer) open() {
	if p.connected && p.down == nil && p.pending.head == nil && len(p.batch) == 0 {
		p.eager = p.eagerLimit()
	}
}

// accepted records that the lane took a frame.
func (p *peer) accepted() {
	p.in.told = p.in.limit()
	if !p.connected {
		p.caps = p.ep.Caps()
		p.connected = true
		p.open()
	}
}

// words packs a header for this peer, including the credit.
func (p *peer) words(h header) transport.Header {
	h.limit = p.in.limit()
	return h.pack()
}

// post sends a frame that belongs to no request, or keeps it until the lane takes it. The body
// is copied.
func (e *Engine) post(p *peer, h header, body []byte) {
	if p.down != nil || e.silent {
		return
	}
	if len(p.batch) > 0 {
		e.sendBatch(p)
	}
	if p.pending.head == nil {
		err := e.transmit(p, p.words(h), body)
		if err == nil {
			p.accepted()
			return
		}
		if !errors.Is(err, transport.ErrAgain) {
			e.refused(p, err)
			return
		}
	}
	f := e.newFrame(h)
	f.body = append(f.body[:0], body...)
	e.keep(p, f)
}

// refused handles a permanent error of a lane. The next Poll reports the loss, unless the
// transport has not detected it.
func (e *Engine) refused(p *peer, err error) {
	if p.tr != nil && !errors.Is(err, transport.ErrPeerDown) && !errors.Is(err, transport.ErrClosed) {
		p.tr.MarkDown(p.rank, err)
	}
	p.eager = -1
	e.urge()
}

// offend gives up a peer that violated the protocol.
func (e *Engine) offend(p *peer, err error) {
	p.eager = -1
	if p.tr != nil {
		p.tr.MarkDown(p.rank, err)
	}
	e.lose(p, err)
}

// repay returns credit for an eager message of a peer, and sends the new limit when it is
// due.
func (e *Engine) repay(p *peer, cost uint32) {
	p.in.returned += cost
	if p.tr == nil {
		p.out.limit = p.in.limit() // this rank itself
		return
	}
	if p.in.due() {
		e.post(p, header{kind: kindCredit}, nil)
	}
}

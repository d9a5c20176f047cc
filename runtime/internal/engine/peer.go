package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/runtime/internal/progress"
	"github.com/gorun-hpc/gorun/transport"
)

// peer is the engine's record of one rank. There is also a record of this rank itself. A record is
// created when an operation first names the rank or the first frame of the rank arrives.
type peer struct {
	rank int
	tr   transport.Transport // nil: this rank itself, or no transport reaches it
	ep   transport.Endpoint
	caps transport.Caps

	// eager is the length in bytes of the longest message that may take the fast path of Send and
	// Isend. It is -1 while the peer is down or not connected, or while frames or a batch to it are
	// waiting. both takes the place of eager while messages stream in both directions; both has a meaning
	// only if eager is not negative.
	eager     int
	both      int
	connected bool  // the transport has accepted a Send, so caps are final
	down      error // the reason why the peer is down or cannot be reached, or nil
	ignored   bool  // discard frames of the peer: it is down or this rank, or the engine has failed
	reclaimed bool  // the peer is down, and Config.Lost has reclaimed the memory handed over to it

	out outgoing
	in  incoming

	pending   frames    // frames that the lane has not taken yet, in order
	feeds     requests  // sends whose bytes go through the lane as DATA frames, in the order of their CTS
	reads     requests  // requests for which Gets or Puts are still to be issued
	moving    int       // Gets and Puts in flight
	listed    bool      // the peer is in Engine.backlog
	envelopes *message  // the oldest of the unexpected messages that the peer may withdraw
	newest    *message  // the newest of them
	announced typeSet   // types whose text was sent to this peer
	types     typeTexts // texts of types that this peer has sent
	links     []*Stream // streams to this peer, by number - 1
	unused    []uint32  // free stream numbers, which are indices into links plus 1

	batch    []byte        // actor messages that will share a frame
	batching bool          // the peer is in batches.open
	answered bool          // a frame of the peer has arrived since the time alone
	alone    time.Duration // when batch last let an actor message be sent at once, as the time since batches.base
}

// requests is a queue of requests, linked by their field next.
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

// pop removes the first request. The queue is not empty.
func (q *requests) pop() {
	r := q.head
	if q.head = r.next; q.head == nil {
		q.tail = nil
	}
	r.next = nil
}

// empty removes all requests.
func (q *requests) empty() {
	for q.head != nil {
		q.pop()
	}
}

// remove removes r if it is in the queue.
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

// to returns the record of a rank and creates it if there is none. The error is ErrAddress if the
// job has no such rank. If no transport reaches the rank, peer.down holds the reason.
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
		if _, ok := ep.(transport.Scheduled); ok {
			e.anyPeer = progress.Unknown
		}
	}
	p.ignored = p.down != nil || e.err != nil
	if c := e.mail.actorReceiver; c != nil && p.down != nil && e.err == nil {
		c.Lost(rank, p.down)
		e.callServer()
	}
	return p
}

// refresh updates caps from the endpoint. The capabilities may change until the peer is connected.
func (p *peer) refresh() {
	if !p.connected {
		p.caps = p.ep.Caps()
	}
}

// eagerLimit returns the length in bytes up to which a message is sent eagerly even if other
// messages are in flight to the peer.
func (p *peer) eagerLimit() int {
	if p.caps.Get || p.caps.Put {
		return min(p.caps.EagerBest, p.caps.MaxEager)
	}
	return p.caps.MaxEager
}

// bothLimit takes the place of eagerLimit while messages stream in both directions.
func (p *peer) bothLimit() int {
	limit := p.eagerLimit()
	if p.caps.EagerBoth > 0 && p.caps.Get {
		limit = min(p.caps.EagerBoth, limit)
	}
	return limit
}

// streamReceives is a number of posted receives. If at least so many receives with one context and tag are posted for
// messages of one peer, the engine assumes that messages stream from this peer. In exchanges between neighbours, a rank
// posts few receives for each neighbour.
const streamReceives = 8

// streams reports whether messages stream from the peer to this rank, as far as the engine knows. It looks
// only at the front of the matcher, where the receives of a window of messages usually are.
func (e *Engine) streams(p *peer) bool {
	q := &e.match.front
	return q.length >= streamReceives && int(q.head.source) == p.rank
}

// long reports whether a message of n bytes is sent by rendezvous. If n lies between eagerLimit and
// Caps.EagerAlone, the message is sent eagerly if only very few messages are in flight to the peer
// (transport.Quieter).
func (e *Engine) long(p *peer, n int) bool {
	if n <= p.eagerLimit() {
		return n > p.bothLimit() && e.streams(p)
	}
	quieter, ok := p.ep.(transport.Quieter)
	return !ok || n > min(p.caps.EagerAlone, p.caps.MaxEager) || !quieter.Quiet()
}

// open enables the fast path if the peer is connected and not down, and the engine has not failed. It does nothing if
// a frame or a batch waits to be sent to the peer.
func (p *peer) open() {
	if p.connected && !p.ignored && p.pending.head == nil && len(p.batch) == 0 {
		p.eager, p.both = p.eagerLimit(), p.bothLimit()
	}
}

// accepted records that the lane has taken a frame, which carried the current credit limit.
func (p *peer) accepted() {
	p.in.told = p.in.limit()
	if !p.connected {
		p.caps = p.ep.Caps()
		p.connected = true
		p.open()
	}
}

// current returns the words of a header with the present credit limit for this peer.
func (p *peer) current(w transport.Header) transport.Header { return withLimit(w, p.in.limit()) }

// post sends a frame that belongs to no request, or queues it until the lane takes it. w are the words of its
// header, without a limit. The body is copied, so the caller may reuse it.
func (e *Engine) post(p *peer, w transport.Header, body []byte) {
	if p.down != nil || e.silent {
		return
	}
	if len(p.batch) > 0 {
		e.sendBatch(p)
	}
	if p.pending.head == nil {
		err := e.transmit(p, p.current(w), body)
		if err == nil {
			p.accepted()
			return
		}
		if !errors.Is(err, transport.ErrAgain) {
			e.refused(p, err)
			return
		}
	}
	f := e.newFrame(w)
	f.body = e.spare.copyOf(body)
	e.keep(p, f)
}

// refused handles a permanent error of a lane. After ErrPeerDown, the transport reports the loss of the
// peer in a later Poll, unless it has already reported the loss. After an unknown error, GiveUp makes the
// transport report the loss. ErrClosed means that the peer has closed its transport, which is no loss.
func (e *Engine) refused(p *peer, err error) {
	if !errors.Is(err, transport.ErrPeerDown) && !errors.Is(err, transport.ErrClosed) {
		p.tr.GiveUp(p.rank, err)
	}
	p.eager = -1
	e.urge()
}

// offend declares a peer to be down because it has violated the protocol.
func (e *Engine) offend(p *peer, err error) {
	p.tr.GiveUp(p.rank, err)
	e.lose(p, err)
}

// repay returns the credit that an eager message of a peer consumed. If a frame for the new limit is due
// (incoming.due), repay sends it. The credit of a lost peer returns to the budget.
func (e *Engine) repay(p *peer, cost uint32) {
	p.in.returned += cost
	if p.tr == nil {
		p.out.limit = p.in.limit() // p is this rank itself: no frame is needed
		return
	}
	if !p.in.due() {
		return
	}
	if p.down != nil {
		e.budget.regain(&p.in)
		return
	}
	e.post(p, header{kind: kindCredit}.pack(), nil)
}

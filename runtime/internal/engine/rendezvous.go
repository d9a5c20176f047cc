package engine

import (
	"errors"

	"github.com/gorun-hpc/gorun/transport"
)

// transfer is the state of the transfer of the bytes of a rendezvous, at one of its two sides.
type transfer struct {
	put     bool          // this side is the sender and moves the bytes by Puts or DATA frames, not by Gets
	cleared bool          // this side is the receiver and has sent a CTS: it issues no more Gets
	total   int           // bytes to move
	next    int           // bytes for which Gets or Puts were issued, or that DATA frames have moved
	flight  int           // Gets or Puts in flight
	from    transport.Key // the other side's memory
	err     error         // first error of a Get or a Put
}

// pull begins to receive a message whose bytes the sender still has. If this rank can read them, pull
// issues Gets; otherwise it sends a CTS. If the receive takes no bytes, pull only tells the sender
// that the message is received (FIN).
func (e *Engine) pull(r *Request, g *message) {
	p := r.peer
	r.mate = g.id
	n := e.admit(r, g.tag, g.typ, g.length)
	readable, from := g.flags&flagKey != 0, g.key
	e.freeMessage(g)
	if n == 0 {
		e.post(p, header{kind: kindFIN, id: r.mate}.pack(), nil)
		e.complete(r, nil)
		return
	}
	if !e.enrol(r) {
		return
	}
	r.move = transfer{total: n, from: from}
	p.refresh()
	if readable && p.caps.Get {
		e.move(r)
		return
	}
	e.sendClearance(r)
}

// sendClearance sends a CTS, which asks the sender to write the bytes into the receiver's memory
// by Puts or to send them as DATA frames.
func (e *Engine) sendClearance(r *Request) {
	p := r.peer
	v := clearance{room: uint64(r.move.total), id: r.id}
	h := header{kind: kindCTS, id: r.mate}
	r.move.next, r.move.err, r.move.cleared = 0, nil, true
	if p.caps.Put && !r.exposed {
		if k, err := p.tr.Expose(r.buf[:r.move.total], transport.AccessWrite); err == nil {
			r.key, r.exposed = k, true
			v.key = k
			h.flags = flagKey
		}
	}
	body := &e.body
	v.put(body)
	e.post(p, h.pack(), body[:])
}

// arriveCTS handles a CTS: it begins to move the bytes of the matched send by Puts or DATA frames.
func (e *Engine) arriveCTS(p *peer, h header, payload []byte) error {
	v, err := parseClearance(payload)
	if err != nil {
		return err
	}
	r := e.operations.find(h.id)
	if r == nil || r.peer != p || r.phase != phaseAnnounced || r.op > opSync || v.room > uint64(len(r.buf)) {
		return stray("CTS", h.id)
	}
	r.phase, r.mate = phaseMoving, v.id
	r.move = transfer{put: true, total: int(v.room), from: v.key}
	if h.flags&flagKey != 0 && p.caps.Put {
		e.move(r)
		return nil
	}
	e.feed(r)
	return nil
}

// move queues a request whose bytes are moved by Gets or Puts, and issues as many of these as possible.
func (e *Engine) move(r *Request) {
	p := r.peer
	p.reads.push(r)
	e.driveMoves(p)
	if p.reads.head != nil {
		e.list(p)
	}
}

// driveMoves issues Gets and Puts for the queued requests of a peer. It stops when the endpoint returns
// ErrAgain. It also stops before a Get if Caps.MaxReads Gets and Puts are in flight. It returns the number
// of Gets and Puts that it has issued, or that failed at once.
func (e *Engine) driveMoves(p *peer) int {
	steps := 0
	for r := p.reads.head; r != nil; r = p.reads.head {
		m := &r.move
		if !m.put && p.moving >= max(p.caps.MaxReads, 1) {
			break
		}
		if m.next < m.total && m.err == nil {
			n := min(m.total-m.next, e.cfg.ChunkBytes)
			err := e.issue(p, r, n)
			if errors.Is(err, transport.ErrAgain) {
				break
			}
			steps++
			if err != nil {
				m.err = err
			} else {
				m.next += n
				m.flight++
				p.moving++
				e.moving++
			}
		}
		if m.next < m.total && m.err == nil {
			continue
		}
		p.reads.pop()
		if m.flight == 0 {
			e.settle(r)
		}
	}
	return steps
}

// issue issues the next Get or Put of a request. n is its length in bytes.
func (e *Engine) issue(p *peer, r *Request, n int) error {
	m := &r.move
	b, k := r.buf[m.next:m.next+n], m.from.At(m.next)
	if m.put {
		return p.ep.Put(b, k, uint64(r.id))
	}
	return p.ep.Get(b, k, uint64(r.id))
}

// moved handles the completion of one Get or Put, whose token is the id of its request.
func (e *Engine) moved(rank int, id uint32, err error) {
	r := e.operations.find(id)
	if r == nil || r.peer == nil || r.peer.rank != rank || r.move.flight == 0 {
		return // not an operation of this engine
	}
	p, m := r.peer, &r.move
	m.flight--
	p.moving--
	e.moving--
	if err != nil && m.err == nil {
		m.err = err
	}
	if p.reads.head != nil {
		e.driveMoves(p)
	}
	ended := m.next == m.total || m.err != nil || p.down != nil || e.err != nil
	if m.flight == 0 && ended && r.id == id && r.phase == phaseMoving {
		if m.next < m.total { // otherwise driveMoves has removed it, and the search would be for nothing
			p.reads.remove(r)
		}
		e.settle(r)
	}
}

// settle is called when all Gets and Puts of a rendezvous have ended and none is still to be
// issued. If the engine has ended, or the peer is lost and bytes are missing, settle completes the request with
// an error. Otherwise, if all Gets and Puts succeeded, it sends a FIN and completes the request. If a Get has
// failed, it sends a CTS instead. If a Put has failed, it sends all bytes as DATA frames.
func (e *Engine) settle(r *Request) {
	p, m := r.peer, &r.move
	switch {
	case e.err != nil:
		e.complete(r, e.err)
	case p.down != nil && (m.err != nil || m.next < m.total):
		e.complete(r, p.lost(r))
	case errors.Is(m.err, transport.ErrPeerDown):
		// The transport will call Down, which completes the request.
	case m.err == nil:
		e.post(p, header{kind: kindFIN, id: r.mate}.pack(), nil)
		e.complete(r, nil)
	case m.put:
		m.next, m.err = 0, nil
		e.feed(r)
	default:
		e.sendClearance(r)
	}
}

// arriveFIN completes an operation of this rank. It is a send whose receiver has read the bytes or takes
// none, or a receive into whose memory the sender has written the bytes.
func (e *Engine) arriveFIN(p *peer, id uint32) error {
	r := e.operations.find(id)
	if r == nil || r.peer != p {
		return stray("FIN", id)
	}
	switch {
	case r.op <= opSync && r.phase == phaseAnnounced:
	case r.move.cleared && r.exposed:
	default:
		return stray("FIN", id)
	}
	e.complete(r, nil)
	return nil
}

package engine

import (
	"errors"

	"github.com/gorun-hpc/gorun/transport"
)

// transfer is the state of the transfer of a rendezvous.
type transfer struct {
	put     bool          // Put by the sender, else Get by the receiver
	cleared bool          // a CTS was sent to the sender, so there is no Get
	total   int           // bytes to move
	next    int           // bytes requested, sent or received so far
	flight  int           // Gets or Puts under way
	from    transport.Key // the other side's memory
	err     error         // of a Get or a Put
}

// pull begins to fetch a message whose bytes the sender still has.
func (e *Engine) pull(r *Request, g *message) {
	p := r.peer
	r.mate = g.id
	n := e.admit(r, g.tag, g.typ, g.length)
	readable, from := g.flags&flagKey != 0, g.key
	e.freeMessage(g)
	if n == 0 {
		e.post(p, header{kind: kindFIN, id: r.mate}, nil)
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

// sendClearance asks the sender to write or to send the bytes.
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
	e.post(p, h, body[:])
}

// arriveCTS begins to write or to send the bytes of a matched message.
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

// move queues a request for Gets or Puts.
func (e *Engine) move(r *Request) {
	p := r.peer
	p.reads.push(r)
	e.driveMoves(p)
	if p.reads.head != nil {
		e.list(p)
	}
}

// driveMoves issues Gets and Puts as far as the endpoint takes them.
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

// issue starts the next Get or Put of a request.
func (e *Engine) issue(p *peer, r *Request, n int) error {
	m := &r.move
	b, k := r.buf[m.next:m.next+n], m.from.At(m.next)
	if m.put {
		return p.ep.Put(b, k, uint64(r.id))
	}
	return p.ep.Get(b, k, uint64(r.id))
}

// moved records the completion of one Get or Put.
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
		p.reads.remove(r)
		e.settle(r)
	}
}

// settle ends a rendezvous whose last Get or Put is complete. If one has failed, it continues
// in another way: after a failed Get the sender gets a CTS, after a failed Put the bytes go
// through the lane.
func (e *Engine) settle(r *Request) {
	p, m := r.peer, &r.move
	switch {
	case e.err != nil:
		e.complete(r, e.err)
	case p.down != nil && (m.err != nil || m.next < m.total):
		e.complete(r, p.lost(r))
	case errors.Is(m.err, transport.ErrPeerDown):
		// Down follows and ends the request.
	case m.err == nil:
		e.post(p, header{kind: kindFIN, id: r.mate}, nil)
		e.complete(r, nil)
	case m.put:
		m.next, m.err = 0, nil
		e.feed(r)
	default:
		e.sendClearance(r)
	}
}

// arriveFIN ends a send whose bytes were read, or a receive whose bytes were
// written.
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

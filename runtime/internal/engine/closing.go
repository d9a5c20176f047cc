package engine

// The end of a link:
//
//	sender                                   receiver
//	CloseLink          ---- kindClose ---->  Courier.Closed   after all of its parcels
//	number is free     <---- kindClosed ---  after all of its grants and refusals
//
// So a number that is used again never gets what was meant for the link before.

// CloseLink ends a link: its parcels are on their way, and no other may follow; who
// waits for its credit waits no longer. Closing it again, or after the end of the
// engine, changes nothing.
func (e *Engine) CloseLink(l *Link) {
	e.lock()
	defer e.unlock()
	if l.closed {
		return
	}
	l.closed = true
	switch p := l.peer; {
	case e.err != nil:
	case p.down != nil:
		p.links[l.number-1] = nil
	default:
		e.post(p, header{kind: kindClose, context: l.number}, nil)
		if l.wanted {
			e.sleeper.Ring() // for AwaitCredit
		}
	}
}

// arriveClose tells the courier that a link of a peer has ended.
func (e *Engine) arriveClose(p *peer, number uint32) {
	if c := e.mail.courier; c != nil {
		e.closed(c, p, number)
		e.callServer()
		return
	}
	switch y := &e.mail.early; {
	case y.hopeless:
		e.post(p, header{kind: kindClosed, context: number}, nil)
	case y.bytes+messageOverhead <= earlyMax: // else the number stays out of use
		y.keep(earlyParcel{source: p.rank, closed: number}, messageOverhead)
	}
}

// closed tells a courier, and then the peer that it was told.
func (e *Engine) closed(c Courier, p *peer, number uint32) {
	c.Closed(p.rank, number)
	if p.down == nil {
		e.post(p, header{kind: kindClosed, context: number}, nil)
	}
}

// arriveClosed makes the number of a link free.
func (e *Engine) arriveClosed(p *peer, number uint32) error {
	if l := p.link(number); l == nil || !l.closed {
		return stray("end", number)
	}
	p.links[number-1] = nil
	p.unused = append(p.unused, number)
	return nil
}

// enter gives a link its number.
func (p *peer) enter(l *Link) {
	if n := len(p.unused); n > 0 {
		l.number, p.unused = p.unused[n-1], p.unused[:n-1]
		p.links[l.number-1] = l
		return
	}
	p.links = append(p.links, l)
	l.number = uint32(len(p.links))
}

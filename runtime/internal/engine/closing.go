package engine

// The end of a stream:
//
//	sender                                   receiver
//	CloseStream          ---- kindClose ---->  ActorReceiver.Closed   after all of its actor messages
//	number is free     <---- kindClosed ---  after all of its grants and refusals
//
// Therefore a new stream with the same number never receives a frame of the old stream.

// CloseStream ends a stream. Messages that were sent before are delivered. Later sends fail with
// ErrStreamClosed. Goroutines that wait for credit of the stream stop waiting. A second call, or a
// call after the end of the engine, does nothing.
func (e *Engine) CloseStream(l *Stream) {
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
		e.post(p, header{kind: kindClose, context: l.number}.pack(), nil)
		e.credited(l)
	}
}

// arriveClose tells the actor receiver that a stream of a peer has ended. Before the actor receiver is
// set, arriveClose keeps the end of a stream if messages of the stream are kept, in order with them. It
// confirms the end of any other stream at once.
func (e *Engine) arriveClose(p *peer, number uint32) {
	if c := e.mail.actorReceiver; c != nil {
		e.closed(c, p, number)
		e.callServer()
		return
	}
	y, k := &e.mail.early, streamKey{p.rank, number}
	delete(y.refused, k)
	if y.keeps(k) {
		y.keep(earlyMessage{source: p.rank, closed: number}, messageOverhead)
	} else {
		e.post(p, header{kind: kindClosed, context: number}.pack(), nil)
	}
}

// closed tells the actor receiver that a stream of p has ended, and then confirms the end to p.
func (e *Engine) closed(c ActorReceiver, p *peer, number uint32) {
	c.Closed(p.rank, number)
	if p.down == nil {
		e.post(p, header{kind: kindClosed, context: number}.pack(), nil)
	}
}

// arriveClosed handles the answer to CloseStream: the number of the stream may be reused.
func (e *Engine) arriveClosed(p *peer, number uint32) error {
	if l := p.stream(number); l == nil || !l.closed {
		return stray("end", number)
	}
	p.links[number-1] = nil
	p.unused = append(p.unused, number)
	return nil
}

// enter assigns a number to a new stream.
func (p *peer) enter(l *Stream) {
	if n := len(p.unused); n > 0 {
		l.number, p.unused = p.unused[n-1], p.unused[:n-1]
		p.links[l.number-1] = l
		return
	}
	p.links = append(p.links, l)
	l.number = uint32(len(p.links))
}

package engine

import (
	"errors"

	"github.com/gorun-hpc/gorun/transport"
)

// frame is a frame that the lane has not taken yet, because the lane was full (ErrAgain) or an
// earlier frame to the same peer is still queued.
type frame struct {
	next *frame
	// words are the words of the header. The limit is inserted when the lane takes the frame.
	words transport.Header
	body  []byte
	req   *Request // the send whose bytes or envelope it carries; may be nil
}

// frames is the queue of the frames to one peer.
type frames struct{ head, tail *frame }

// newFrame returns a frame with the words w of its header. The caller sets the body.
func (e *Engine) newFrame(w transport.Header) *frame {
	f := e.spare.frames.get()
	f.words = w
	return f
}

// freeFrame returns a frame and the memory of its body to the spare memory. It does not return the body of an eager
// message, which is the slice of a request (emit).
func (e *Engine) freeFrame(f *frame) {
	if kindOf(f.words) != kindEager {
		e.spare.put(f.body)
	}
	e.spare.frames.put(f)
}

// keep appends a frame to the queue of p and disables the fast path to p.
func (e *Engine) keep(p *peer, f *frame) {
	if p.pending.tail == nil {
		p.pending.head = f
	} else {
		p.pending.tail.next = f
	}
	p.pending.tail = f
	p.eager = -1
	e.list(p)
}

// unkeep removes the frame of a request from the queue and returns the words of its header.
func (e *Engine) unkeep(p *peer, r *Request) (transport.Header, bool) {
	var before *frame
	for f := p.pending.head; f != nil; before, f = f, f.next {
		if f.req != r {
			continue
		}
		if before == nil {
			p.pending.head = f.next
		} else {
			before.next = f.next
		}
		if p.pending.tail == f {
			p.pending.tail = before
		}
		w := f.words
		e.freeFrame(f)
		p.open()
		return w, true
	}
	return transport.Header{}, false
}

// list adds p to the backlog, which drive processes after the next poll.
func (e *Engine) list(p *peer) {
	if !p.listed {
		p.listed = true
		e.backlog = append(e.backlog, p)
		e.urge()
	}
}

// drive sends queued frames and continues transfers of all peers of the backlog, as far as the
// lanes and endpoints take them. It returns the number of frames sent and of Gets and Puts issued.
func (e *Engine) drive() int {
	steps := 0
	peers := e.backlog
	kept := 0
	for i := 0; i < len(peers); i++ {
		p := peers[i]
		steps += e.drivePeer(p)
		if p.down == nil && (p.pending.head != nil || p.feeds.head != nil || p.reads.head != nil) {
			e.backlog[kept] = p
			kept++
			continue
		}
		p.listed = false
	}
	kept += copy(e.backlog[kept:], e.backlog[len(peers):]) // peers that drivePeer has added
	clear(e.backlog[kept:])
	e.backlog = e.backlog[:kept]
	return steps
}

// drivePeer is drive for one peer.
func (e *Engine) drivePeer(p *peer) int {
	steps := 0
	for p.pending.head != nil && p.down == nil {
		f := p.pending.head
		if err := e.transmit(p, p.current(f.words), f.body); err != nil {
			if !errors.Is(err, transport.ErrAgain) {
				e.refused(p, err)
			}
			break
		}
		steps++
		if p.pending.head = f.next; f.next == nil {
			p.pending.tail = nil
		}
		p.accepted()
		if f.req != nil {
			e.sent(f.req, f.words)
		}
		e.freeFrame(f)
	}
	if p.pending.head == nil {
		p.open()
	}
	if p.reads.head != nil && p.down == nil {
		steps += e.driveMoves(p)
	}
	if p.feeds.head != nil && p.pending.head == nil && p.down == nil {
		steps += e.driveFeeds(p)
	}
	return steps
}

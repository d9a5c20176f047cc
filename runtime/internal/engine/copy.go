package engine

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/transport"
)

// feedBurst is the number of bytes after which driveFeeds returns, so that the engine can do other
// work.
const feedBurst = 1 << 20

// feed enqueues a matched send whose bytes are to be sent in DATA frames.
func (e *Engine) feed(r *Request) {
	r.peer.feeds.push(r)
	e.list(r.peer)
	if r.peer.pending.head == nil {
		e.driveFeeds(r.peer)
	}
}

// driveFeeds sends DATA frames of the queued sends until the lane refuses a frame or feedBurst is
// reached. It returns the number of frames sent.
func (e *Engine) driveFeeds(p *peer) int {
	steps := 0
	for burst := 0; p.feeds.head != nil && burst < feedBurst; {
		r := p.feeds.head
		m := &r.move
		n := min(m.total-m.next, p.caps.MaxEager)
		w := withOffset(p.current(header{kind: kindData, id: r.mate}.pack()), m.next)
		if err := e.transmit(p, w, r.buf[m.next:m.next+n]); err != nil {
			if !errors.Is(err, transport.ErrAgain) {
				e.refused(p, err)
			}
			break
		}
		p.accepted()
		steps++
		burst += n + messageOverhead
		if m.next += n; m.next == m.total {
			p.feeds.pop()
			e.complete(r, nil)
		}
	}
	return steps
}

// arriveData handles a DATA frame. The frame contains a part of a message that this rank has requested
// by a CTS.
func (e *Engine) arriveData(p *peer, id uint32, offset uint64, payload []byte) error {
	r := e.operations.find(id)
	if r == nil || r.peer != p || !r.move.cleared {
		return stray("DATA", id)
	}
	m := &r.move
	if offset != uint64(m.next) || len(payload) > m.total-m.next {
		return fmt.Errorf("%w: DATA of %d bytes at %d of %d", ErrProtocol, len(payload), offset, m.total)
	}
	copy(r.buf[m.next:], payload)
	if m.next += len(payload); m.next == m.total {
		e.complete(r, nil)
	}
	return nil
}

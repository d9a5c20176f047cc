package engine

import (
	"encoding/binary"
	"fmt"
	"time"
)

// If a Send is costly (transport.Caps.CostlySend), several actor messages to a peer share one Send.
// The first message is sent at once. Messages that follow within batchWithin, and before a frame
// from the peer has arrived, are collected in a batch, which is one frame. The batch is sent
//
//   - by the next poll (a sleeping poller is woken for it);
//   - when the batch is full;
//   - before any other frame is sent to the peer, so that the order is kept;
//   - after batchMost, if no goroutine polls.
//
// While the lane refuses frames, the batch grows. For each actor message, the body of the
// frame contains five words of 32 bits, little endian, and the message's body:
//
//	stream, tag, type, ID, length of the body

const (
	// batchMax is the maximum length of the body of a batch in bytes.
	batchMax = 16 << 10
	// batchedMax is the maximum length in bytes of an actor message in a batch, with its
	// batchedHead. A longer message is sent in a Send of its own.
	batchedMax = 2 << 10
	// batchedHead is the length in bytes of the five words before the body of an actor message.
	batchedHead = 20
	// batchWithin is a time that begins when an actor message is sent at once. An actor message that
	// follows within this time, and before a frame of the peer, begins a batch.
	batchWithin = 20 * time.Microsecond
	// batchMost is the time after which a timer sends a batch. The timer is late if no processor
	// is free.
	batchMost = 100 * time.Microsecond
)

// batches is the state of the batches of all peers.
type batches struct {
	open []*peer // the peers with an open batch
	// rung reports whether a sleeping poller was woken to send the open batches.
	rung bool
	// timer sends the open batches if no goroutine polls. running reports whether the timer is set.
	timer   *time.Timer
	running bool
	// base is the time from which peer.alone is measured. within is batchWithin, except in tests.
	base   time.Time
	within time.Duration
}

// batch appends an actor message to the batch of a peer. It returns false if the message is too long
// for a batch, if the peer is not connected, or if the message has to be sent at once. The caller
// then posts the message.
func (e *Engine) batch(p *peer, w ActorMessage, head, body []byte) bool {
	n := batchedHead + len(head) + len(body)
	if n > min(batchedMax, p.caps.MaxEager) || !p.connected {
		return false
	}
	if len(p.batch) == 0 {
		if now := time.Since(e.mail.batches.base); p.pending.head == nil && (p.answered || now-p.alone > e.mail.batches.within) {
			p.answered, p.alone = false, now
			return false
		}
		e.openBatch(p)
	} else if len(p.batch)+n > min(batchMax, p.caps.MaxEager) {
		e.sendBatch(p)
	}
	p.eager = -1 // no fast path, so that no message overtakes the batch
	b := p.batch
	b = binary.LittleEndian.AppendUint32(b, w.Stream)
	b = binary.LittleEndian.AppendUint32(b, w.Tag)
	b = binary.LittleEndian.AppendUint32(b, w.Type)
	b = binary.LittleEndian.AppendUint32(b, w.ID)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(head)+len(body)))
	p.batch = append(append(b, head...), body...)
	return true
}

// openBatch arranges that the batch of p will be sent: by a poll, or by the timer.
func (e *Engine) openBatch(p *peer) {
	s := &e.mail.batches
	if !p.batching {
		p.batching = true
		s.open = append(s.open, p)
	}
	if !s.rung {
		s.rung = true
		e.urge()
	}
	switch {
	case s.running:
		return
	case s.timer == nil:
		s.timer = time.AfterFunc(batchMost, e.batchesDue)
	default:
		s.timer.Reset(batchMost)
	}
	s.running = true
}

// stop ends the timer. mu is held. A timer function that is already running finds that the engine
// is closing, and does nothing.
func (s *batches) stop() {
	if s.timer != nil {
		s.timer.Stop()
	}
}

// batchesDue is the function of the timer.
func (e *Engine) batchesDue() {
	e.lock()
	defer e.unlock()
	e.mail.batches.running = false
	if !e.background.closing {
		e.sendBatches()
	}
}

// sendBatches sends the open batches, except batches for lanes that refuse frames.
func (e *Engine) sendBatches() {
	s := &e.mail.batches
	s.rung = false
	kept := s.open[:0]
	for _, p := range s.open {
		if p.pending.head != nil {
			kept = append(kept, p)
			continue
		}
		p.batching = false
		e.sendBatch(p)
	}
	clear(s.open[len(kept):])
	s.open = kept
}

// sendBatch sends the batch of p. If the batch is empty, it has been sent already, and sendBatch does
// nothing.
func (e *Engine) sendBatch(p *peer) {
	if len(p.batch) == 0 {
		return
	}
	body := p.batch
	p.batch = body[:0]
	e.post(p, header{kind: kindBatch}.pack(), body)
	p.open()
}

// arriveBatch passes the actor messages of a batch to the actor receiver.
func (e *Engine) arriveBatch(p *peer, b []byte) error {
	for len(b) > 0 {
		if len(b) < batchedHead {
			return fmt.Errorf("%w: %d bytes at the end of a batch", ErrProtocol, len(b))
		}
		w := ActorMessage{
			Stream: binary.LittleEndian.Uint32(b),
			Tag:    binary.LittleEndian.Uint32(b[4:]),
			Type:   binary.LittleEndian.Uint32(b[8:]),
			ID:     binary.LittleEndian.Uint32(b[12:]),
		}
		n := binary.LittleEndian.Uint32(b[16:])
		b = b[batchedHead:]
		if w.Tag>>31 != 0 || uint64(n) > uint64(len(b)) {
			return fmt.Errorf("%w: actor message with tag %#x of %d bytes, %d left in its batch", ErrProtocol, w.Tag, n, len(b))
		}
		e.takeMessage(p, w, b[:n], nil)
		b = b[n:]
	}
	e.callServer()
	return nil
}

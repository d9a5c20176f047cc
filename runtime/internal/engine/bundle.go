package engine

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Where a Send costs much (transport.Caps.CostlySend) actor messages share one. The first
// goes at once. What follows it closely, before anything was heard from the peer,
// waits in a bundle, one frame, until
//
//   - somebody polls, who is woken for it if he sleeps;
//   - the bundle is full;
//   - another frame goes to the peer, so that all stay in order;
//   - bundleMost is over, because nobody polls.
//
// While the lane refuses frames the bundle goes on growing. The body of the frame
// is, for each actor message, five words of 32 bits, little endian, and its body:
//
//	stream, tag, type, ID, length of the body

const (
	// bundleMax bounds the body of a bundle, in bytes.
	bundleMax = 16 << 10
	// bundledMax is the longest actor message of a bundle: a longer one is worth a Send.
	bundledMax = 2 << 10
	// bundledHead is what precedes the body of an actor message.
	bundledHead = 20
	// bundleWithin is how closely actor messages follow each other that share a bundle.
	bundleWithin = 20 * time.Microsecond
	// bundleMost is how long a bundle waits, when the processor is free.
	bundleMost = 100 * time.Microsecond
)

// bundles are the peers with an open bundle.
type bundles struct {
	open []*peer
	// rung says that somebody was woken to send them.
	rung bool
	// timer sends what nobody polls for; running says that it runs.
	timer   *time.Timer
	running bool
	// base is what times are measured from, within is bundleWithin.
	base   time.Time
	within time.Duration
}

// bundle puts an actor message into the bundle of a peer, or returns false: it is to be
// posted.
func (e *Engine) bundle(p *peer, w ActorMessage, head, body []byte) bool {
	n := bundledHead + len(head) + len(body)
	if n > min(bundledMax, p.caps.MaxEager) || !p.connected {
		return false
	}
	if len(p.bundle) == 0 {
		if now := time.Since(e.mail.bundles.base); p.pending.head == nil && (p.answered || now-p.alone > e.mail.bundles.within) {
			p.answered, p.alone = false, now
			return false
		}
		e.openBundle(p)
	} else if len(p.bundle)+n > min(bundleMax, p.caps.MaxEager) {
		e.sendBundle(p)
	}
	p.eager = -1 // nothing overtakes it
	b := p.bundle
	b = binary.LittleEndian.AppendUint32(b, w.Stream)
	b = binary.LittleEndian.AppendUint32(b, w.Tag)
	b = binary.LittleEndian.AppendUint32(b, w.Type)
	b = binary.LittleEndian.AppendUint32(b, w.ID)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(head)+len(body)))
	p.bundle = append(append(b, head...), body...)
	return true
}

// openBundle sees to it that somebody will send the bundle of p.
func (e *Engine) openBundle(p *peer) {
	s := &e.mail.bundles
	if !p.bundling {
		p.bundling = true
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
		s.timer = time.AfterFunc(bundleMost, e.bundlesDue)
	default:
		s.timer.Reset(bundleMost)
	}
	s.running = true
}

// stop ends the timer. mu is held; one that fires nevertheless finds the engine
// closing.
func (s *bundles) stop() {
	if s.timer != nil {
		s.timer.Stop()
	}
}

// bundlesDue is the timer's.
func (e *Engine) bundlesDue() {
	e.lock()
	defer e.unlock()
	e.mail.bundles.running = false
	if !e.background.closing {
		e.sendBundles()
	}
}

// sendBundles sends the open bundles, but those to lanes that refuse frames.
func (e *Engine) sendBundles() {
	s := &e.mail.bundles
	s.rung = false
	kept := s.open[:0]
	for _, p := range s.open {
		if p.pending.head != nil {
			kept = append(kept, p)
			continue
		}
		p.bundling = false
		e.sendBundle(p)
	}
	clear(s.open[len(kept):])
	s.open = kept
}

// sendBundle sends the bundle of p, which may be empty: it has been sent already then.
func (e *Engine) sendBundle(p *peer) {
	if len(p.bundle) == 0 {
		return
	}
	body := p.bundle
	p.bundle = body[:0]
	e.post(p, header{kind: kindBundle}, body)
	p.open()
}

// arriveBundle hands the actor messages of a bundle to the actor receiver.
func (e *Engine) arriveBundle(p *peer, b []byte) error {
	for len(b) > 0 {
		if len(b) < bundledHead {
			return fmt.Errorf("%w: %d bytes at the end of a bundle", ErrProtocol, len(b))
		}
		w := ActorMessage{
			Stream: binary.LittleEndian.Uint32(b),
			Tag:    binary.LittleEndian.Uint32(b[4:]),
			Type:   binary.LittleEndian.Uint32(b[8:]),
			ID:     binary.LittleEndian.Uint32(b[12:]),
		}
		n := binary.LittleEndian.Uint32(b[16:])
		b = b[bundledHead:]
		if w.Tag>>31 != 0 || uint64(n) > uint64(len(b)) {
			return fmt.Errorf("%w: actor message with tag %#x of %d bytes, %d left in its bundle", ErrProtocol, w.Tag, n, len(b))
		}
		e.takeMessage(p, w, b[:n], nil)
		b = b[n:]
	}
	e.callServer()
	return nil
}

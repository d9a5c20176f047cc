package actors

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// receiveStream is the receiving end of a stream.
type receiveStream struct {
	s      *System
	from   *source
	source int
	number uint32
	name   string

	// returned is the cost of what was taken, told what the sender knows of it.
	returned, told atomic.Uint32
	// settling is settlingBit and what returned is to reach until the sender is told, if
	// the sender waits for all of it.
	settling atomic.Uint64
	// existed says that the actor was there once.
	existed atomic.Bool
	// closed says that the stream has ended. The engine's lock guards it.
	closed bool

	// These belong to the serving goroutine.
	ref *mailboxRef // to the actor, nil until it was found
	// Arrivals wait in kept, in order, while a long message is on its way (pulling).
	kept    []arrival
	pulling bool
	lost    error // a long message did not come: its sender is gone
	// before is the receive stream of an earlier stream of the same rank to the same name:
	// while something waits there, what comes here waits behind it.
	before *receiveStream
}

// mailboxRef leads to a mailbox as long as its actor lives. So a stream that outlives the
// actor does not keep it.
type mailboxRef struct{ box atomic.Pointer[mailbox] }

// reference returns the door to a mailbox, which is made on first use. The serving
// goroutine calls it.
func (m *mailbox) reference() *mailboxRef {
	d := m.ref.Load()
	if d == nil {
		d = new(mailboxRef)
		d.box.Store(m)
		m.ref.Store(d)
		if m.dead.Load() {
			d.box.Store(nil)
		}
	}
	return d
}

// box returns the mailbox of a living actor that the receive stream leads to, or nil.
func (in *receiveStream) box() *mailbox {
	if in.ref == nil {
		return nil
	}
	return in.ref.box.Load()
}

// busy returns the receive stream at which what comes here has to wait, or nil.
func (in *receiveStream) busy() *receiveStream {
	if in.before != nil {
		if b := in.before.busy(); b != nil {
			return b
		}
		in.lost = in.before.lost // an actor that missed that message must see no gap either
		in.before = nil          // its stream has ended: nothing comes there any more
	}
	if in.pulling {
		return in
	}
	return nil
}

// flowing returns the mailbox that what comes goes straight to, or nil.
func (in *receiveStream) flowing() *mailbox {
	to := in.box()
	if to == nil || in.before != nil || in.pulling || in.lost != nil || to.dead.Load() {
		return nil
	}
	return to
}

// settlingBit is set in receive stream.settling when the sender waits.
const settlingBit = 1 << 32

// repay returns credit, and tells the sender when half of it came together, or all that
// it waits for.
func (in *receiveStream) repay(cost uint32) {
	if cost != 0 {
		in.tell(in.returned.Add(cost))
	}
}

// tell tells the sender what was returned in total, if that is due.
func (in *receiveStream) tell(total uint32) {
	told := in.told.Load()
	due := total-told >= engine.StreamWindow/2 || total != told && in.settling.Load() == settlingBit|uint64(total)
	if due && in.told.CompareAndSwap(told, total) {
		in.s.engine.Grant(in.source, in.number, total+engine.StreamWindow, &in.closed)
	}
}

// settle is told what the sender has spent, which it wants back before it closes the
// stream.
func (in *receiveStream) settle(spent uint32) {
	in.settling.Store(settlingBit | uint64(spent))
	in.tell(in.returned.Load())
}

// take returns what was kept.
func (in *receiveStream) take() []arrival {
	kept := in.kept
	in.kept = nil
	return kept
}

const (
	// receiveStreamsPage is the number of receive streams that a source makes room for at a time.
	receiveStreamsPage = 256
	// receiveStreamsMax bounds the streams of one rank to another.
	receiveStreamsMax = 1 << 22
)

// source is what arrived from one rank.
type source struct {
	// receiveStreams are those of open streams, by number - 1.
	receiveStreams [][]*receiveStream
	types          codec.Definitions // of the peer

	// mu guards closing: receive streams of streams that have ended, by name, as long as
	// something may wait at them.
	mu      sync.Mutex
	closing map[string]*receiveStream
}

// receiveStream returns the receive stream of a stream, or nil.
func (src *source) receiveStream(number uint32) *receiveStream {
	at := int(number) - 1
	if at < 0 || at/receiveStreamsPage >= len(src.receiveStreams) || src.receiveStreams[at/receiveStreamsPage] == nil {
		return nil
	}
	return src.receiveStreams[at/receiveStreamsPage][at%receiveStreamsPage]
}

// open makes the receive stream of a new stream. The engine's lock is held.
func (src *source) open(s *System, rank int, number uint32, name string) error {
	if number == 0 || number > receiveStreamsMax || src.receiveStream(number) != nil {
		return fmt.Errorf("%w: new stream %d", codec.ErrMalformed, number)
	}
	page, at := int(number-1)/receiveStreamsPage, int(number-1)%receiveStreamsPage
	for len(src.receiveStreams) <= page {
		src.receiveStreams = append(src.receiveStreams, nil)
	}
	if src.receiveStreams[page] == nil {
		src.receiveStreams[page] = make([]*receiveStream, receiveStreamsPage)
	}
	in := &receiveStream{s: s, from: src, source: rank, number: number, name: name}
	src.mu.Lock()
	in.before = src.closing[name]
	src.mu.Unlock()
	src.receiveStreams[page][at] = in
	return nil
}

// settle makes an arrival of a codec.KindSettle.
func (src *source) settle(a *arrival, w engine.ActorMessage, body []byte) error {
	in := src.receiveStream(w.Stream)
	if in == nil || len(body) != 4 {
		return fmt.Errorf("%w: settlement of stream %d, %d bytes", codec.ErrMalformed, w.Stream, len(body))
	}
	a.kind, a.in, a.number = arrivalSettle, in, binary.LittleEndian.Uint32(body)
	return nil
}

// close takes out the receive stream of a stream that has ended; nil if there is none. The
// engine's lock is held.
func (src *source) close(number uint32) *receiveStream {
	in := src.receiveStream(number)
	if in == nil {
		return nil
	}
	src.receiveStreams[(number-1)/receiveStreamsPage][(number-1)%receiveStreamsPage] = nil
	in.closed = true
	src.mu.Lock()
	if src.closing == nil {
		src.closing = make(map[string]*receiveStream)
	}
	src.closing[in.name] = in
	src.mu.Unlock()
	return in
}

// forget is called when nothing waits any more at a receive stream whose stream has ended.
func (in *receiveStream) forget() {
	in.from.mu.Lock()
	if in.from.closing[in.name] == in {
		delete(in.from.closing, in.name)
	}
	in.from.mu.Unlock()
}

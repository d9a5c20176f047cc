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

	// returned is the cost of the messages that were taken, told the part of it that was
	// reported to the sender.
	returned, told atomic.Uint32
	// settling is settlingBit plus a value of returned, if the sender waits for a report of
	// that value.
	settling atomic.Uint64
	// existed says that the actor has existed.
	existed atomic.Bool
	// closed says that the stream has ended. The engine's lock guards it.
	closed bool

	// These belong to the serving goroutine.
	ref *mailboxRef // to the actor, nil until it was found
	// Arrivals wait in kept, in order, while a long message is being received (pulling).
	kept    []arrival
	pulling bool
	lost    error // a long message was lost with its sender
	// before is the receive stream of an earlier stream of the same rank to the same name.
	// While arrivals wait there, those of this stream wait behind them.
	before *receiveStream
}

// mailboxRef refers to a mailbox as long as its actor lives. So a stream that outlives the actor
// does not keep the mailbox.
type mailboxRef struct{ box atomic.Pointer[mailbox] }

// reference returns the mailboxRef of a mailbox, which it makes on first use. The serving
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

// box returns the mailbox of the stream's actor, or nil if it is unknown or the actor has ended.
func (in *receiveStream) box() *mailbox {
	if in.ref == nil {
		return nil
	}
	return in.ref.box.Load()
}

// busy returns the receive stream at which arrivals of this one have to wait, or nil.
func (in *receiveStream) busy() *receiveStream {
	if in.before != nil {
		if b := in.before.busy(); b != nil {
			return b
		}
		in.lost = in.before.lost // the actor must see no gap
		in.before = nil          // its stream has ended, and has no more arrivals
	}
	if in.pulling {
		return in
	}
	return nil
}

// flowing returns the mailbox that gets arrivals of the stream directly, or nil.
func (in *receiveStream) flowing() *mailbox {
	to := in.box()
	if to == nil || in.before != nil || in.pulling || in.lost != nil || to.dead.Load() {
		return nil
	}
	return to
}

// settlingBit is set in receive stream.settling when the sender waits.
const settlingBit = 1 << 32

// repay returns credit. It reports to the sender when half of the window, or all that the
// sender waits for, was returned.
func (in *receiveStream) repay(cost uint32) {
	if cost != 0 {
		in.tell(in.returned.Add(cost))
	}
}

// tell reports the returned credit to the sender, if that is due.
func (in *receiveStream) tell(total uint32) {
	told := in.told.Load()
	due := total-told >= engine.StreamWindow/2 || total != told && in.settling.Load() == settlingBit|uint64(total)
	if due && in.told.CompareAndSwap(told, total) {
		in.s.engine.Grant(in.source, in.number, total+engine.StreamWindow, &in.closed)
	}
}

// settle handles the sender's request to report when all spent credit was returned. The sender
// then closes the stream.
func (in *receiveStream) settle(spent uint32) {
	in.settling.Store(settlingBit | uint64(spent))
	in.tell(in.returned.Load())
}

// take removes and returns what was kept.
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

// source is the state of the arrivals from one rank.
type source struct {
	// receiveStreams are those of open streams, by number - 1.
	receiveStreams [][]*receiveStream
	types          codec.Definitions // of the peer

	// mu guards closing: the receive streams of streams that have ended, by name, as long as
	// arrivals may wait at them.
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

// close removes and returns the receive stream of a stream that has ended, or nil. The engine's
// lock is held.
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

// forget is called when the stream has ended and no arrival waits at the receive stream.
func (in *receiveStream) forget() {
	in.from.mu.Lock()
	if in.from.closing[in.name] == in {
		delete(in.from.closing, in.name)
	}
	in.from.mu.Unlock()
}

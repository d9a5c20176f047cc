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
	source int    // the sender's rank
	number uint32 // the number of the stream
	name   string // the name of the receiving actor

	// returned is the total credit of the messages that an actor has taken, that were passed to a Process
	// without a mailbox of this package, or that became dead letters. told is the value of returned that
	// was last reported to the sender. Both wrap around.
	returned, told atomic.Uint32
	// settling is 0 until the sender first requests a report. From then on it is settlingBit plus the
	// value of returned at which the last requested report is due.
	settling atomic.Uint64
	// existed is true if a message of the stream has found the actor, which therefore exists or has existed.
	existed atomic.Bool
	// unknown is true if messages of the stream have waited for the actor until Config.Patience had passed.
	unknown atomic.Bool
	// forwarded is true if a forwarder has passed messages of the stream on, possibly to several actors.
	forwarded atomic.Bool
	// closed is true if the stream has ended. The engine's lock guards it.
	closed bool

	// The serving goroutine owns the following fields.
	ref *mailboxRef // the actor's mailbox; nil until it was found
	// While a long message is being received, pulling is true, and arrivals wait in kept, in order.
	kept    []arrival
	pulling bool
	lost    error // the reason why a long message of the stream was not received, or nil
	// The field before is the receive stream of an earlier stream from the same rank to the same name.
	// While arrivals wait at that receive stream, the arrivals of this stream are queued after them.
	before *receiveStream
}

// mailboxRef refers to a mailbox as long as its actor lives and no later actor or router has the actor's name. So a
// stream that outlives the actor does not keep the mailbox in memory, and finds the later actor.
type mailboxRef struct{ box atomic.Pointer[mailbox] }

// reference returns the mailboxRef of a mailbox, which it makes on first use. Only the serving goroutine
// calls it.
func (m *mailbox) reference() *mailboxRef {
	d := m.ref.Load()
	if d == nil {
		d = new(mailboxRef)
		d.box.Store(m)
		m.ref.Store(d)
		if !m.lives() {
			d.box.Store(nil)
		}
	}
	return d
}

// box returns the mailbox of the stream's actor. It returns nil if the mailbox was not found yet, if the actor has
// ended, or if a later actor or router has its name.
func (in *receiveStream) box() *mailbox {
	if in.ref == nil {
		return nil
	}
	return in.ref.box.Load()
}

// busy returns the receive stream at which arrivals of this stream must wait: the stream's own or that
// of an earlier stream. It returns nil if the arrivals need not wait.
func (in *receiveStream) busy() *receiveStream {
	if in.before != nil {
		if b := in.before.busy(); b != nil {
			return b
		}
		in.lost = in.before.lost // the actor must see no gap
		in.before = nil          // the earlier stream has ended, and no arrival waits there
	}
	if in.pulling {
		return in
	}
	return nil
}

// flowing returns the mailbox to which arrivals of the stream can be delivered without further
// checks. If there is no such mailbox, it returns nil.
func (in *receiveStream) flowing() *mailbox {
	to := in.box()
	if to == nil || in.before != nil || in.pulling || in.lost != nil || to.dead.Load() {
		return nil
	}
	return to
}

// settlingBit is set in receiveStream.settling when the sender has requested a report.
const settlingBit = 1 << 32

// repay returns credit to the stream. It reports to the sender in two cases. Either half of the window has
// been returned after the last report, or the field returned has reached the value that settling contains.
func (in *receiveStream) repay(cost uint32) {
	if cost != 0 {
		in.tell(in.returned.Add(cost))
	}
}

// tell reports the returned credit to the sender, if a report is due. total is a recent value of returned. Several
// goroutines may call tell, because the messages of a stream to a router have several receivers. told never goes
// back. If another goroutine has changed told, tell tries again: the report may still be due, and it is possible that
// no later call of tell follows.
func (in *receiveStream) tell(total uint32) {
	for {
		told := in.told.Load()
		switch more := int32(total - told); {
		case more <= 0:
			return // a later value was reported
		case more < engine.StreamWindow/2 && in.settling.Load() != settlingBit|uint64(total):
			return
		case in.told.CompareAndSwap(told, total):
			in.s.engine.Grant(in.source, in.number, total+engine.StreamWindow, &in.closed)
			return
		}
		total = in.returned.Load()
	}
}

// settle handles the sender's request for a report. The report is due when all credit that the sender
// has spent was returned. After the report the sender can close the stream.
func (in *receiveStream) settle(spent uint32) {
	in.settling.Store(settlingBit | uint64(spent))
	in.tell(in.returned.Load())
}

const (
	// receiveStreamsPage is the number of receive streams in one page of source.receiveStreams.
	receiveStreamsPage = 256
	// receiveStreamsMax bounds the number of streams from one rank to another.
	receiveStreamsMax = 1 << 22
)

// source is the state of the arrivals from one rank.
type source struct {
	// receiveStreams holds the receive streams of open streams in pages. The index is the stream's
	// number - 1.
	receiveStreams [][]*receiveStream
	types          codec.Definitions // the types that the peer has defined

	// mu guards closing. closing holds, by name, the receive streams of ended streams at which arrivals
	// may still wait.
	mu      sync.Mutex
	closing map[string]*receiveStream
}

// receiveStream returns the receive stream of an open stream, or nil if there is no such stream.
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

// settle sets the fields of the arrival of a message of codec.KindSettle.
func (src *source) settle(a *arrival, w engine.ActorMessage, body []byte) error {
	in := src.receiveStream(w.Stream)
	if in == nil || len(body) != 4 {
		return fmt.Errorf("%w: settlement of stream %d, %d bytes", codec.ErrMalformed, w.Stream, len(body))
	}
	a.kind, a.in, a.number = arrivalSettle, in, binary.LittleEndian.Uint32(body)
	return nil
}

// close removes and returns the receive stream of a stream that has ended, or returns nil if there is no
// such stream. The engine's lock is held.
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

// forget removes the receive stream from closing. It is called when the stream has ended and no arrival
// waits at the receive stream any more.
func (in *receiveStream) forget() {
	in.from.mu.Lock()
	if in.from.closing[in.name] == in {
		delete(in.from.closing, in.name)
	}
	in.from.mu.Unlock()
}

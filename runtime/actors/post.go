package actors

import (
	"fmt"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// What an arrival is.
type arrivalKind uint8

const (
	arrivalMessage arrivalKind = iota
	arrivalRun                 // number messages, see inflow
	arrivalSystem
	arrivalProbe
	arrivalCredit  // stream can be sent through again
	arrivalRefused // the peer of stream has no actors
	arrivalLost    // of a rank
	arrivalClosed  // the stream of an receive stream has ended
	arrivalSettle  // of an receive stream: number is what its sender has spent
)

// arrival is what a peer sent, or became of it, on the way from the engine to the
// actor. It is small because there are many.
type arrival struct {
	kind    arrivalKind
	number  uint32 // arrivalSystem: the type; arrivalRun: of messages; arrivalSettle: bytes
	cost    uint32
	source  int32
	in      *receiveStream // nil if the head had the name
	to      *actor.PID     // nil but if the head had the name
	message any
	sender  *actor.PID
	rare    *rarity
}

// rarity is what few arrivals have.
type rarity struct {
	headers map[string]string
	// With codec the message is still to be made, from memory or from bytes.
	codec  *codec.Type
	bytes  []byte
	memory *engine.Message
	stream *engine.Stream
	large  bool  // bytes are an announcement
	pull   *pull // it is on its way, or there
	err    error // why it is a dead letter
}

// more returns the rare part, which it makes if there is none.
func (a *arrival) more() *rarity {
	if a.rare == nil {
		a.rare = new(rarity)
	}
	return a.rare
}

// post takes what the engine hands over and delivers it. The engine's lock guards
// its fields up to the blank line.
type post struct {
	s         *System
	sources   []*source
	queue     inflow
	envelopes envelopes
	senders   senders
	askers    askers // others may read it

	taken     inflow // what work is at; the serving goroutine's while it works
	transfers transfers
	batch     []item // messages in a row for one actor, on their way to its mailbox
	to        *mailbox
	goroutine atomic.Uintptr
	box       *mailbox // the inline actor that the serving goroutine runs
	own       *mailbox // what it is to run when it has left
	expected  map[string][]*receiveStream

	// announced says which types a rank knows, a bit each; nobodies has one remote
	// of each rank, for what needs no stream of its own.
	announced []codec.Announced
	nobodies  []atomic.Pointer[remote]
}

var _ engine.ActorReceiver = (*post)(nil)

// init makes the zero value usable.
func (p *post) init(s *System) {
	p.s = s
	p.sources = make([]*source, s.world.Size())
	p.announced = make([]codec.Announced, s.world.Size())
	p.nobodies = make([]atomic.Pointer[remote], s.world.Size())
	p.expected = make(map[string][]*receiveStream)
}

// ready reports whether there is something for work. The engine's lock is held.
func (p *post) ready() bool {
	if len(p.taken.list) == 0 && len(p.queue.list) > 0 {
		p.taken, p.queue = p.queue, p.taken
	}
	return len(p.taken.list) > 0 || p.s.local.some.Load() || p.transfers.over()
}

// ActorMessage implements engine.ActorReceiver.
func (p *post) ActorMessage(from int, w engine.ActorMessage, body []byte, memory *engine.Message) {
	if memory == nil && p.plain(from, w, body) {
		return
	}
	a := arrival{source: int32(from)}
	if memory != nil {
		a.more().memory = memory
	}
	tag, n := codec.SplitTag(w.Tag)
	var err error
	src := p.sources[from]
	if src == nil {
		src = &source{}
		p.sources[from] = src
	}
	switch {
	case n > len(body) || tag == 0 || tag >= codec.KindEnd || memory != nil && tag != codec.KindUser:
		err = fmt.Errorf("%w: tag %#x", codec.ErrMalformed, w.Tag)
	case tag == codec.KindSettle:
		if err = src.settle(&a, w, body); err == nil {
			p.queue.add(a)
			return
		}
	case tag == codec.KindName:
		if err = src.open(p.s, from, w.Stream, string(body)); err == nil {
			return
		}
	case tag == codec.KindDefine:
		if err = src.types.Define(w.Type, body); err == nil {
			return
		}
	default:
		if err = p.address(&a, src, w, body[:n]); err == nil {
			err = p.contents(&a, src, w, tag, body[n:])
		}
		if w.ID != p.s.epoch && err == nil {
			err = fmt.Errorf("%w: epoch %d, not %d", ErrStale, p.s.epoch, w.ID)
		}
	}
	if err != nil {
		a.kind, a.more().err = arrivalMessage, err // a dead letter, whatever it was to be
	}
	p.queue.add(a)
}

// plain takes the most frequent actor messages, messages of a registered type whose head has a
// sender at most, and answers. It returns false for any other and for what is wrong with
// it.
func (p *post) plain(from int, w engine.ActorMessage, body []byte) bool {
	src := p.sources[from]
	tag, n := codec.SplitTag(w.Tag)
	if tag != codec.KindUser || src == nil || w.ID != p.s.epoch || n > len(body) {
		return false
	}
	decode := src.types.Copied(w.Type)
	if decode == nil {
		return false
	}
	if w.Stream == 0 {
		return p.answer(from, body[:n], body[n:], decode)
	}
	in := src.receiveStream(w.Stream)
	if in == nil {
		return false
	}
	var sender *actor.PID
	if n > 0 {
		if sender = p.speaker(from, body[:n]); sender == nil {
			return false
		}
		body = body[n:]
	}
	message, err := decode(body)
	if err != nil {
		return false
	}
	if sender != nil {
		message = p.envelopes.of(message, sender, len(body))
	}
	p.queue.plain(from, item{message: message, in: in, cost: costOf(len(body))})
	return true
}

// answer is plain for a message to a future of this rank, which the head names.
func (p *post) answer(from int, head, body []byte, decode func(b []byte) (any, error)) bool {
	id := codec.Sole(head, codec.HeadName)
	if id == nil {
		return false
	}
	message, err := decode(body)
	if err != nil {
		return false
	}
	to := p.s.questions.answered(id)
	if to == nil {
		to = p.s.NewLocalPID(string(id))
	}
	p.queue.add(arrival{source: int32(from), to: to, message: message})
	return true
}

// address finds out who an actor message is for and from.
func (p *post) address(a *arrival, src *source, w engine.ActorMessage, raw []byte) error {
	if w.Stream != 0 {
		if a.in = src.receiveStream(w.Stream); a.in == nil {
			return fmt.Errorf("%w: stream %d", codec.ErrMalformed, w.Stream)
		}
	}
	if a.sender = p.speaker(int(a.source), raw); a.sender == nil && len(raw) > 0 {
		h, err := codec.ParseHead(raw)
		if err != nil {
			return err
		}
		if len(h.Name) > 0 && a.in == nil {
			a.to = p.s.NewLocalPID(string(h.Name))
		}
		if h.Headers != nil {
			a.more().headers = h.Headers
		}
		if h.HasSender {
			a.sender = p.sender(int(a.source), h)
		}
	}
	if a.in == nil && a.to == nil {
		return fmt.Errorf("%w: no addressee", codec.ErrMalformed)
	}
	return nil
}

// contents takes the message out of an actor message.
func (p *post) contents(a *arrival, src *source, w engine.ActorMessage, tag int, body []byte) error {
	switch tag {
	case codec.KindProbe:
		q, err := parseProbe(body)
		a.kind, a.message = arrivalProbe, q
		return err
	case codec.KindSystem:
		if w.Type < codec.NumberWatch || w.Type > codec.NumberStop || a.sender == nil && w.Type != codec.NumberStop || w.Type == codec.NumberTerminated && len(body) != 1 {
			return fmt.Errorf("%w: system message %d", codec.ErrMalformed, w.Type)
		}
		a.kind, a.number = arrivalSystem, w.Type
		a.more().bytes = append([]byte(nil), body...)
		return nil
	}
	c, err := src.types.Type(w.Type)
	n, inMemory := len(body), a.rare != nil && a.rare.memory != nil
	if inMemory {
		n = len(a.rare.memory.Bytes)
	}
	if tag == codec.KindLarge {
		var bad error
		if n, _, bad = codec.ParseAnnouncement(body); bad != nil {
			return bad
		}
		r := a.more()
		r.codec, r.bytes, r.large = c, append([]byte(nil), body...), true
	}
	if a.in != nil {
		a.cost = costOf(n)
	}
	if err != nil || tag == codec.KindLarge {
		return err
	}
	switch {
	case inMemory:
		a.rare.codec = c
	case c == codec.Message:
		a.message = p.s.world.Wrap(int(a.source), append([]byte(nil), body...))
	case c.Copied:
		a.message, err = c.Decode(body)
	default:
		r := a.more()
		r.codec, r.bytes = c, append([]byte(nil), body...)
	}
	return err
}

// Credit implements engine.ActorReceiver.
func (p *post) Credit(l *engine.Stream) {
	p.queue.add(arrival{kind: arrivalCredit, rare: &rarity{stream: l}})
}

// Refused implements engine.ActorReceiver.
func (p *post) Refused(l *engine.Stream) {
	p.queue.add(arrival{kind: arrivalRefused, rare: &rarity{stream: l}})
}

// Closed implements engine.ActorReceiver.
func (p *post) Closed(from int, stream uint32) {
	a := arrival{kind: arrivalClosed, source: int32(from)}
	if src := p.sources[from]; src != nil {
		a.in = src.close(stream)
	}
	if a.in == nil {
		a.kind, a.rare = arrivalMessage, &rarity{err: fmt.Errorf("%w: end of stream %d", codec.ErrMalformed, stream)}
	}
	p.queue.add(a)
}

// Lost implements engine.ActorReceiver.
func (p *post) Lost(peer int, cause error) {
	p.sources[peer] = nil
	p.queue.add(arrival{kind: arrivalLost, source: int32(peer), rare: &rarity{err: cause}})
}

// define tells a rank what the number of a type means, before its first use.
func (p *post) define(l *engine.Stream, c *codec.Type) error {
	known := &p.announced[l.Rank()]
	if !known.Needs(c) {
		return nil
	}
	// With the stream, so that a refusal is reported.
	_, err := p.s.engine.SendActorMessage(l, engine.ActorMessage{Stream: l.Number(), Tag: codec.Tag(codec.KindDefine, 0), Type: c.Number}, nil, c.Definition(), 0)
	if err == nil {
		// Now, not before: another goroutine must not rely on it too early. A second
		// definition does no harm.
		known.Add(c)
	}
	return err
}

// nobodyOf returns a remote of a rank that is no actor's. There is one.
func (p *post) nobodyOf(rank int) *remote {
	if r := p.nobodies[rank].Load(); r != nil {
		return r
	}
	r, _ := p.s.resolve(p.s.PID(rank, nobody))
	p.nobodies[rank].Store(r.(*remote))
	return r.(*remote)
}

// nobody is the id that no actor has.
const nobody = "$nobody"

package actors

import (
	"fmt"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
	"github.com/gorun-hpc/gorun/runtime/actors/internal/deadlock"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// arrivalKind is the kind of an arrival.
type arrivalKind uint8

const (
	arrivalMessage arrivalKind = iota
	arrivalRun                 // a run of messages (see arrivalQueue); number is the number of messages
	arrivalSystem
	arrivalProbe
	arrivalCredit  // the sending end details.stream has credit again
	arrivalRefused // message is a *refusal
	arrivalLost    // the rank source is lost
	arrivalClosed  // the peer has closed the stream of arrival.in
	arrivalSettle  // the peer requests a report on the stream of arrival.in; number is the credit spent on the stream
)

// arrival is an event of the engine that is not delivered yet, in most cases a message of a peer for an
// actor. The struct is small because there are many arrivals.
type arrival struct {
	kind    arrivalKind
	number  uint32 // type of an arrivalSystem, messages of an arrivalRun, or bytes of credit of an arrivalSettle
	cost    uint32
	source  int32
	in      *receiveStream // nil if the message's head (codec.Head) contained the addressee's name
	to      *actor.PID     // set only if the head contained the addressee's name, otherwise nil
	message any
	sender  *actor.PID
	details *arrivalDetails
}

// arrivalDetails holds the fields that only few arrivals need.
type arrivalDetails struct {
	headers map[string]string
	// If codec is not nil, the message is not decoded yet: memory or bytes contains it.
	codec  *codec.Type
	bytes  []byte
	memory *engine.Message
	stream *engine.Stream
	large  bool  // bytes is the announcement of a long message
	pull   *pull // the receive of the long message
	err    error // the reason, if the arrival is to become a dead letter; the cause of an arrivalLost
}

// withDetails returns a.details, which it allocates if it is nil.
func (a *arrival) withDetails() *arrivalDetails {
	if a.details == nil {
		a.details = new(arrivalDetails)
	}
	return a.details
}

// inbound receives actor messages and events from the engine and delivers them. The engine's lock guards
// the fields up to the blank line.
type inbound struct {
	s             *System
	sources       []*source
	queue         arrivalQueue
	envelopes     envelopes
	senders       senders
	remoteFutures remoteFutures // any goroutine may call the method find

	taken     arrivalQueue // arrivals being delivered; owned by the serving goroutine during work
	transfers transfers
	batch     []item         // consecutive messages for one mailbox (the field to), not delivered yet
	to        *mailbox       // receiver of batch, nil if batch is empty
	goroutine atomic.Uintptr // identifies the serving goroutine
	box       *mailbox       // the inline actor that the serving goroutine runs
	next      *mailbox       // the actor that the serving goroutine runs after it has left Serve

	// announced holds, by peer, the types that this rank has defined to the peer. nameless holds, by
	// peer, a remote for messages that carry the addressee's name and no stream number.
	announced []codec.Announced
	nameless  []atomic.Pointer[remote]
}

var _ engine.ActorReceiver = (*inbound)(nil)

// init makes the zero value usable.
func (p *inbound) init(s *System) {
	p.s = s
	p.sources = make([]*source, s.world.Size())
	p.announced = make([]codec.Announced, s.world.Size())
	p.nameless = make([]atomic.Pointer[remote], s.world.Size())
}

// ready reports whether the method work has anything to do. The engine's lock is held.
func (p *inbound) ready() bool { return p.arrived() || p.s.local.some.Load() }

// arrived reports whether there are arrivals to deliver or ended transfers to settle. If taken is empty,
// arrived exchanges taken and queue. The engine's lock is held.
func (p *inbound) arrived() bool {
	if len(p.taken.list) == 0 && len(p.queue.list) > 0 {
		p.taken, p.queue = p.queue, p.taken
	}
	return len(p.taken.list) > 0 || p.transfers.over()
}

// ActorMessage implements engine.ActorReceiver: it parses a message of a peer and, in most cases, queues an arrival.
func (p *inbound) ActorMessage(from int, w engine.ActorMessage, body []byte, memory *engine.Message) {
	if memory == nil && p.plain(from, w, body) {
		return
	}
	a := arrival{source: int32(from)}
	if memory != nil {
		a.withDetails().memory = memory
	}
	src := p.sources[from]
	if src == nil {
		src = &source{}
		p.sources[from] = src
	}
	kind, head, rest, whole := codec.Split(w.Tag, body)
	var err error
	switch {
	case !whole || memory != nil && kind != codec.KindUser:
		err = fmt.Errorf("%w: tag %#x", codec.ErrMalformed, w.Tag)
	case kind == codec.KindName:
		if err = src.open(p.s, from, w.Stream, string(body)); err == nil {
			return
		}
	case kind == codec.KindDefine:
		if err = src.types.Define(w.Type, body); err == nil {
			return
		}
	case kind == codec.KindSettle:
		err = src.settle(&a, w, body)
	default:
		if err = p.address(&a, src, w, head); err == nil {
			err = p.contents(&a, src, w, kind, rest)
		}
		if w.ID != p.s.epoch && err == nil {
			err = fmt.Errorf("%w: the message is of generation %d, this rank of generation %d", ErrStale, w.ID, p.s.epoch)
		}
	}
	if err != nil {
		a.kind, a.withDetails().err = arrivalMessage, err // a dead letter
	}
	p.queue.add(&a)
}

// plain is the fast path for the most frequent messages. The message must be of a type that is
// decoded by copying. A message of a stream must have an empty head, or a head that contains only the
// sender, which must be an actor or a future of the peer. A message without a stream must be an answer, with
// only the future's name in its head. For any other message, and for a malformed message, plain returns false.
func (p *inbound) plain(from int, w engine.ActorMessage, body []byte) bool {
	src := p.sources[from]
	kind, n := codec.SplitTag(w.Tag)
	if kind != codec.KindUser || src == nil || w.ID != p.s.epoch || n > len(body) {
		return false
	}
	decode := src.types.Copied(w.Type)
	if decode == nil {
		return false
	}
	head, body := body[:n], body[n:]
	if w.Stream == 0 {
		id := codec.Sole(head, codec.HeadName)
		if id == nil {
			return false
		}
		message, err := decode(body)
		if err == nil {
			p.queue.list = append(p.queue.list, arrival{source: int32(from), to: p.future(id), message: message})
		}
		return err == nil
	}
	in := src.receiveStream(w.Stream)
	if in == nil {
		return false
	}
	var sender *actor.PID
	if n > 0 {
		if sender = p.soleSender(from, head); sender == nil {
			return false
		}
	}
	message, err := decode(body)
	if err != nil {
		return false
	}
	if sender != nil {
		message = p.envelopes.of(message, sender, len(body))
	}
	p.queue.addItem(from, item{message: message, in: in, cost: costOf(len(body))})
	return true
}

// future returns the PID of a future of this rank. In most cases it is the future of the last
// request, whose PID is in openRequests.
func (p *inbound) future(id []byte) *actor.PID {
	if to := p.s.openRequests.answered(id); to != nil {
		return to
	}
	return p.s.NewLocalPID(string(id))
}

// address stores, in the arrival, the addressee and the sender of a message.
func (p *inbound) address(a *arrival, src *source, w engine.ActorMessage, head []byte) error {
	if w.Stream != 0 {
		if a.in = src.receiveStream(w.Stream); a.in == nil {
			return fmt.Errorf("%w: stream %d", codec.ErrMalformed, w.Stream)
		}
	}
	if len(head) > 0 {
		if a.sender = p.soleSender(int(a.source), head); a.sender == nil {
			if err := p.parse(a, head); err != nil {
				return err
			}
		}
	}
	if a.in == nil && a.to == nil {
		return fmt.Errorf("%w: no addressee", codec.ErrMalformed)
	}
	return nil
}

// parse does the work of address for a head for which soleSender returns nil.
func (p *inbound) parse(a *arrival, head []byte) error {
	h, err := codec.ParseHead(head)
	if err != nil {
		return err
	}
	if len(h.Name) > 0 && a.in == nil {
		// The openRequest is not removed, because a long answer has only been announced and may still
		// be lost.
		a.to = p.s.NewLocalPID(string(h.Name))
	}
	if h.Headers != nil {
		a.withDetails().headers = h.Headers
	}
	if h.HasSender {
		a.sender = p.sender(int(a.source), h)
	}
	return nil
}

// contents stores the contents of a message in the arrival. A message of the program is stored undecoded: the
// delivery decodes it without the engine's lock.
func (p *inbound) contents(a *arrival, src *source, w engine.ActorMessage, kind int, body []byte) error {
	switch kind {
	case codec.KindUser, codec.KindLarge:
	case codec.KindProbe:
		q, ok := deadlock.Parse(body)
		if !ok {
			return fmt.Errorf("%w: probe of %d bytes", codec.ErrMalformed, len(body))
		}
		a.kind, a.message = arrivalProbe, q
		return nil
	case codec.KindSystem:
		if w.Type < codec.NumberWatch || w.Type > codec.NumberStop || a.sender == nil && w.Type != codec.NumberStop || w.Type == codec.NumberTerminated && len(body) != 1 {
			return fmt.Errorf("%w: system message %d", codec.ErrMalformed, w.Type)
		}
		a.kind, a.number = arrivalSystem, w.Type
		a.withDetails().bytes = append([]byte(nil), body...)
		return nil
	default:
		return fmt.Errorf("%w: tag %#x", codec.ErrMalformed, w.Tag)
	}
	r := a.withDetails()
	n := len(body)
	var err error
	switch {
	case kind == codec.KindLarge:
		if n, _, err = codec.ParseAnnouncement(body); err != nil {
			return err
		}
		r.large = true
	case r.memory != nil:
		n = len(r.memory.Bytes)
	}
	if a.in != nil {
		a.cost = costOf(n)
	}
	r.codec, err = src.types.Type(w.Type)
	if r.memory == nil {
		r.bytes = append([]byte(nil), body...)
	}
	return err
}

// Credit implements engine.ActorReceiver.
func (p *inbound) Credit(l *engine.Stream) {
	p.queue.add(&arrival{kind: arrivalCredit, details: &arrivalDetails{stream: l}})
}

// Closed implements engine.ActorReceiver.
func (p *inbound) Closed(from int, stream uint32) {
	a := arrival{kind: arrivalClosed, source: int32(from)}
	if src := p.sources[from]; src != nil {
		a.in = src.close(stream)
	}
	if a.in == nil {
		a.kind, a.details = arrivalMessage, &arrivalDetails{err: fmt.Errorf("%w: end of stream %d", codec.ErrMalformed, stream)}
	}
	p.queue.add(&a)
}

// Lost implements engine.ActorReceiver.
func (p *inbound) Lost(peer int, cause error) {
	p.sources[peer] = nil
	p.queue.add(&arrival{kind: arrivalLost, source: int32(peer), details: &arrivalDetails{err: cause}})
}

// namelessOf returns the nameless remote of a rank, which it makes on first use.
func (p *inbound) namelessOf(rank int) *remote {
	if r := p.nameless[rank].Load(); r != nil {
		return r
	}
	r := p.s.reach(remoteKey{rank, p.s.epoch, namelessID})
	p.nameless[rank].Store(r)
	return r
}

// namelessID is an id that no actor has.
const namelessID = "$nameless"

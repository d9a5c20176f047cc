package engine

import (
	"context"
	"fmt"

	"github.com/gorun-hpc/gorun/transport"
)

// Parcels are frames for a Courier: beside matching and the credit of messages,
// but in the lane like every frame, hence in order with everything else. A Link
// is a stream of parcels to one addressee at a peer, with a credit of its own: an
// addressee that takes nothing holds up its own links and nobody else.
//
//	sender                                   receiver
//	NewLink            ---- kindParcel --->  Courier.Parcel   the first of link n
//	SendParcel(cost)   ---- kindParcel --->  Courier.Parcel   takes up to LinkWindow
//	   false: no credit                      Grant(n, limit)  when it is done with some
//	Courier.Credit     <---- kindGrant ----
//	CloseLink          ---- kindClose --->   Courier.Closed
//
// What travels in a parcel, and what a link leads to, only couriers know.

// LinkWindow is how many bytes of cost a link may have outstanding.
const LinkWindow = 256 << 10

// Parcel is the part of a frame's header that belongs to couriers.
type Parcel struct {
	// Link is the number of the link at its sender; 0 is no link.
	Link uint32
	// Tag is below 1<<31.
	Tag uint32
	// Type and ID are any.
	Type, ID uint32
}

// Courier takes the parcels of peers. Its methods are called with the engine's
// lock held, on whatever goroutine polls: they must not call the engine.
type Courier interface {
	// Parcel takes a parcel. body is valid during the call. memory is the arena
	// memory that came along, or nil; the courier owns it.
	Parcel(source int, p Parcel, body []byte, memory *Message)
	// Credit says that a link that was refused can take parcels again.
	Credit(l *Link)
	// Refused says that a parcel was dropped: the peer has no courier, and no room
	// or no patience to keep it until there is one.
	Refused(l *Link)
	// Closed says that a link of a peer has ended: after all of its parcels. Its
	// number may lead elsewhere from then on.
	Closed(source int, link uint32)
	// Lost says that a peer is down: once, after all of its parcels.
	Lost(peer int, cause error)
}

// Link is the sending end of a stream of parcels. Its fields are the engine's.
type Link struct {
	peer   *peer
	number uint32
	out    outgoing
	wanted bool // a parcel was refused since the last grant
	closed bool
	// Owner is the courier's own; the engine does not touch it.
	Owner any
}

// Rank returns the peer that the link leads to.
func (l *Link) Rank() int { return l.peer.rank }

// mail is what an engine needs for parcels.
type mail struct {
	courier Courier
	early   early
	scratch []byte
	bundles bundles
	// serving is the goroutine of Serve, see ErrInline, and server its waiter.
	serving uintptr
	server  *waiter
	// working says that Serve is in work, works how often it was; seen is the
	// background's.
	working     bool
	works, seen uint64
}

// SetCourier hands the parcels of all peers to c from now on, those that came
// before included, and then the losses so far. It is called once.
func (e *Engine) SetCourier(c Courier) {
	e.lock()
	defer e.unlock()
	e.mail.courier = c
	for _, p := range e.mail.early.take() {
		if p.closed != 0 {
			e.closed(c, e.peers[p.source], p.closed)
			continue
		}
		c.Parcel(p.source, p.parcel, p.body, p.memory)
	}
	e.mail.early.stop()
	for _, rank := range e.deaths {
		c.Lost(rank, e.peers[rank].down)
	}
}

// NewLink makes a link to a peer and sends its first parcel, unless first is nil,
// with the number of the link, before anything else of that link. The error is
// ErrAddress, transport.ErrTooLong, or the loss of the peer or of the engine.
func (e *Engine) NewLink(rank int, owner any, first *Parcel, body []byte) (*Link, error) {
	e.lock()
	defer e.unlock()
	p, err := e.to(rank)
	if err != nil {
		return nil, err
	}
	if p.tr == nil && p.down == nil {
		return nil, fmt.Errorf("%w: a link to this rank itself", ErrAddress)
	}
	l := &Link{peer: p, out: outgoing{limit: LinkWindow}, Owner: owner}
	if err := e.sendable(l); err != nil {
		return nil, err
	}
	if first != nil && len(body) > p.mostEager() {
		return nil, fmt.Errorf("%w: parcel of %d bytes", transport.ErrTooLong, len(body))
	}
	p.enter(l)
	if first != nil {
		h := first.header()
		h.context = l.number
		e.post(p, h, body)
	}
	return l, nil
}

// Number is the number of the link, from 1: its own until CloseLink.
func (l *Link) Number() uint32 { return l.number }

// Eager returns the longest parcel to a peer that SendParcel takes, head and body
// together.
func (e *Engine) Eager(rank int) int {
	e.lock()
	defer e.unlock()
	p, err := e.to(rank)
	if err != nil || p.ep == nil {
		return 0
	}
	p.refresh()
	return min(p.eagerLimit(), LinkWindow)
}

// SendParcel sends head and body, which are copied, through a link; cost is what
// they take of its credit, at most LinkWindow; 0 always goes. It returns false
// when the credit does not suffice: Courier.Credit follows when it is worth
// trying again. It never blocks. The error is the loss of the peer, of the
// engine, or transport.ErrTooLong.
func (e *Engine) SendParcel(l *Link, p Parcel, head, body []byte, cost uint32) (bool, error) {
	e.lock()
	defer e.unlock()
	if err := e.sendable(l); err != nil {
		return false, err
	}
	if !l.admits(cost) {
		return false, nil
	}
	if n := len(head) + len(body); l.peer.eager < n && n > l.peer.mostEager() {
		return false, fmt.Errorf("%w: parcel of %d bytes", transport.ErrTooLong, n)
	}
	l.out.sent += cost
	e.background.activity++
	if !l.peer.caps.CostlySend || !e.bundle(l.peer, p, head, body) {
		if len(head) > 0 {
			e.mail.scratch = append(append(e.mail.scratch[:0], head...), body...)
			body = e.mail.scratch
		}
		e.post(l.peer, p.header(), body)
	}
	return true, nil
}

// SendParcelMemory sends head and gives away arena memory of this rank that peers
// know as k. It comes back through Config.Release. The error is
// transport.ErrNotSupported where memory cannot change hands; the memory is the
// caller's then, as it is after any error and after false.
func (e *Engine) SendParcelMemory(l *Link, p Parcel, head []byte, k transport.Key, n int, cost uint32) (bool, error) {
	e.lock()
	defer e.unlock()
	if err := e.sendable(l); err != nil {
		return false, err
	}
	l.peer.refresh()
	if !l.peer.caps.Handover {
		return false, transport.ErrNotSupported
	}
	if !l.admits(cost) {
		return false, nil
	}
	var body [envelopeSize]byte
	envelope{length: uint64(n), key: k}.put(&body)
	e.mail.scratch = append(append(e.mail.scratch[:0], body[:]...), head...)
	if len(e.mail.scratch) > l.peer.mostEager() {
		return false, fmt.Errorf("%w: parcel with a head of %d bytes", transport.ErrTooLong, len(head))
	}
	h := p.header()
	h.flags = flagKey
	l.out.sent += cost
	e.background.activity++
	e.post(l.peer, h, e.mail.scratch)
	return true, nil
}

// Grant tells the sender of a link up to where it may send: the cumulative cost of
// what was taken, plus LinkWindow. closed, which the courier sets in Courier.Closed,
// says that the link has ended; then it does nothing.
func (e *Engine) Grant(rank int, link, limit uint32, closed *bool) {
	e.lock()
	defer e.unlock()
	if *closed {
		return // its number may lead elsewhere by now
	}
	if p, err := e.to(rank); err == nil && p.tr != nil && p.down == nil && e.err == nil {
		e.post(p, header{kind: kindGrant, context: link, id: limit}, nil)
	}
}

// Down returns why nothing can be sent to a rank any more, or nil.
func (e *Engine) Down(rank int) error {
	e.lock()
	defer e.unlock()
	p, err := e.to(rank)
	if err != nil {
		return err
	}
	return p.down
}

// sendable returns why nothing can be sent through l, or nil.
func (e *Engine) sendable(l *Link) error {
	if e.err != nil {
		return e.err
	}
	if l.peer.down != nil {
		return l.peer.lostIn("tell")
	}
	if l.closed {
		return ErrLinkClosed
	}
	return nil
}

// admits reports whether the credit suffices, and remembers if it does not. A
// link with nothing outstanding admits anything.
func (l *Link) admits(cost uint32) bool {
	if cost == 0 || l.out.fits(cost) || l.out.limit-l.out.sent == LinkWindow {
		return true
	}
	l.wanted = true
	return false
}

// Settled reports whether all of the credit that was spent on l has come back, or l has
// ended. Otherwise spent is the total, mod 2^32, and Courier.Credit follows the next grant.
func (e *Engine) Settled(l *Link) (spent uint32, settled bool) {
	e.lock()
	defer e.unlock()
	settled = e.sendable(l) != nil || l.out.limit-l.out.sent == LinkWindow
	if !settled {
		l.wanted = true
	}
	return l.out.sent, settled
}

// mostEager is the longest frame of a peer, whatever is the fastest way.
func (p *peer) mostEager() int {
	p.refresh()
	return p.caps.MaxEager
}

// header is the header of the parcel's frame.
func (p Parcel) header() header {
	return header{kind: kindParcel, context: p.Link, tag: int32(p.Tag), typ: Type(p.Type), id: p.ID}
}

// arriveParcel hands a parcel to the courier.
func (e *Engine) arriveParcel(p *peer, h header, body []byte) error {
	parcel := Parcel{Link: h.context, Tag: uint32(h.tag), Type: uint32(h.typ), ID: h.id}
	var memory *Message
	if h.flags&flagKey != 0 {
		if len(body) < envelopeSize {
			return fmt.Errorf("%w: parcel with memory of %d bytes", ErrProtocol, len(body))
		}
		v, err := parseEnvelope(body[:envelopeSize])
		if err != nil {
			return err
		}
		b, err := p.ep.Map(v.key, int(v.length))
		if err != nil {
			return fmt.Errorf("memory of a parcel: %w", err)
		}
		body = body[envelopeSize:]
		memory = &Message{Bytes: b, e: e, owner: p, key: v.key}
		memory.Status = Status{Source: p.rank, Bytes: len(b), Handover: true}
	}
	e.takeParcel(p, parcel, body, memory)
	e.callServer()
	return nil
}

// arriveGrant raises the credit of a link.
func (e *Engine) arriveGrant(p *peer, h header) error {
	l := p.link(h.context)
	if l == nil || int32(h.id-l.out.sent-LinkWindow) > 0 {
		return stray("credit", h.context)
	}
	l.out.raise(h.id)
	if l.wanted {
		l.wanted = false
		e.mail.courier.Credit(l)
		e.callServer()
		e.sleeper.Ring() // for AwaitCredit
	}
	return nil
}

// link returns the link of a number, or nil.
func (p *peer) link(number uint32) *Link {
	if number == 0 || number > uint32(len(p.links)) {
		return nil
	}
	return p.links[number-1]
}

// AwaitCredit waits until a link that refused a parcel has credit again, or can
// have none any more, being closed or of a peer that is down. The error is the one
// of Await.
func (e *Engine) AwaitCredit(l *Link, what string) error {
	return e.Await(context.Background(), func() bool { return !l.wanted || l.closed || l.peer.down != nil }, 0, what)
}

// Over reports whether the operation of h is finished. It is for Serve's ready,
// which is called with the engine's lock held.
func (h Handle) Over() bool {
	r := h.pending()
	return r == nil || r.phase == phaseDone
}

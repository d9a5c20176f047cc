package engine

import (
	"context"
	"math"

	"github.com/gorun-hpc/gorun/transport"
)

// op says what a request does.
type op uint8

const (
	opSend op = iota
	opSync
	opRecv
	opRecvMessage
	opSendHandover
)

// opNames are the texts of errors and of Blocked.
var opNames = [...]string{
	opSend: "send", opSync: "synchronous send", opRecv: "receive",
	opRecvMessage: "receive message", opSendHandover: "send buffer",
}

// phase is the progress of a request.
type phase uint8

const (
	phaseFree      phase = iota
	phaseQueued          // send: its frame is in the pending list of its peer
	phaseAnnounced       // send: its envelope was sent, and is unmatched as far as known
	phaseMoving          // its bytes move; nothing can cancel it
	phasePosted          // receive: unmatched
	phaseHeld            // receive: its message waits for memory
	phaseDone
)

// Request is the record of an operation, to which callers have a Handle. It holds the caller's
// slice until it is done. Records come from a free list and return to it when the result is
// taken.
//
// The fields that a small receive uses come first, so that many receives under way need few
// cache lines.
type Request struct {
	entry      entry // receives: place among the posted
	e          *Engine
	next       *Request // in one list of its peer or in the free list
	peer       *peer    // sends, and receives once matched
	buf        []byte
	waiter     *waiter // of the goroutine that waits for it
	typ        Type
	generation uint32 // of the record: how often its result was taken
	id         uint32 // in Engine.operations, if answers are expected
	op         op
	phase      phase
	exposed    bool // this rank has exposed key
	withdrawn  bool // a WITHDRAW was sent
	canceled   bool // Cancel was called
	given      bool // no goroutine waits for it, see sendGiven
	noted      bool // its begin is recorded with the number record, and its end is not
	late       bool // it is recorded when it ends, or when its goroutine waits for long
	status     Status
	err        error
	cause      error    // of the cancellation
	message    *Message // RecvMessage: the result; the record owns it
	held       *message // RecvMessage: the message that waits for memory
	target     key      // destination or source
	pc         uintptr
	record     uint64

	mate uint32 // id of the other side's operation
	key  transport.Key
	move transfer
	gift uint64 // Addr of the memory of a sendGiven
	own  waiter // of Wait
}

// newRequest takes a record from the free list.
func (e *Engine) newRequest(o op, t Type, to key, buf []byte, pc uintptr) *Request {
	r := e.requests
	if r == nil {
		r = &Request{e: e}
		r.entry.req = r
	} else {
		e.requests, r.next = r.next, nil
	}
	r.op, r.typ, r.target, r.buf, r.pc = o, t, to, buf, pc
	return r
}

// lastGeneration is that of a record that is not used again: no handle has it.
const lastGeneration = math.MaxUint32

// free returns a finished request to the free list and returns its result. A record whose generations
// are used up is left to the collector, so that no handle, however old, is one of a later operation.
func (e *Engine) free(r *Request) (Status, error) {
	s, err := r.status, r.err
	r.phase = phaseFree
	r.generation++
	r.peer, r.buf, r.err, r.waiter, r.cause = nil, nil, nil, nil, nil
	r.exposed, r.withdrawn, r.canceled, r.given = false, false, false, false
	if r.generation != lastGeneration {
		r.next, e.requests = e.requests, r
	}
	return s, err
}

// carry records the message that RecvMessage will return.
func (r *Request) carry(m Message) {
	if r.message == nil {
		r.message = new(Message)
	}
	*r.message = m
}

// carried takes the message of carry, or the zero Message.
func (r *Request) carried() Message {
	if r.message == nil {
		return Message{}
	}
	m := *r.message
	*r.message = Message{}
	return m
}

// complete ends a request, with err unless it already has an error. Its slice is not accessed
// any more. The record is free afterwards if no goroutine waits for it.
func (e *Engine) complete(r *Request, err error) {
	if r.phase == phaseDone {
		return
	}
	if r.err == nil {
		r.err = err
	}
	if r.exposed {
		e.unexpose(r)
	}
	if r.id != 0 {
		e.operations.drop(r.id)
		r.id = 0
	}
	r.phase = phaseDone
	if r.noted {
		e.noteEnd(r)
	}
	if w := r.waiter; w != nil {
		e.fire(w)
	}
	if r.given {
		e.endGiven(r)
	}
}

// unexpose conceals the memory of a request that was exposed to its peer.
func (e *Engine) unexpose(r *Request) {
	r.exposed = false
	if err := r.peer.tr.Conceal(r.key); err != nil && r.err == nil {
		r.err = err
	}
}

// waitRequest waits until r is done or holds a message, cancelling it when ctx ends.
func (e *Engine) waitRequest(ctx context.Context, r *Request) {
	w := &r.own
	w.req, w.fired = r, false
	r.waiter = w
	err := e.wait(ctx, w)
	if err != nil && r.phase != phaseDone {
		e.cancel(r, err)
		w.fired = r.phase == phaseDone || r.phase == phaseHeld
		_ = e.wait(context.Background(), w)
	}
	r.waiter, w.req = nil, nil
}

// operations gives requests ids that peers name in their answers. An id is an
// index with a generation above it, so that an answer to a finished operation is not taken
// for one to its successor.
//
//	bits 0-23 index + 1, 24-31 generation
type operations struct {
	slots []operation
	idle  []uint32 // indices without a request
}

type operation struct {
	req        *Request
	generation uint8
}

const indexBits = 24

// add returns an id for r; 0 when there are too many.
func (o *operations) add(r *Request) uint32 {
	var i uint32
	if last := len(o.idle) - 1; last >= 0 {
		i, o.idle = o.idle[last], o.idle[:last]
	} else {
		i = uint32(len(o.slots))
		if i >= 1<<indexBits-1 {
			return 0
		}
		o.slots = append(o.slots, operation{})
	}
	o.slots[i].req = r
	return i + 1 | uint32(o.slots[i].generation)<<indexBits
}

// find returns the request of id, or nil.
func (o *operations) find(id uint32) *Request {
	i := id&(1<<indexBits-1) - 1
	if i >= uint32(len(o.slots)) || o.slots[i].generation != uint8(id>>indexBits) {
		return nil
	}
	return o.slots[i].req
}

// drop ends an id.
func (o *operations) drop(id uint32) {
	i := id&(1<<indexBits-1) - 1
	o.slots[i].req = nil
	o.slots[i].generation++
	o.idle = append(o.idle, i)
}
